"""Read, execute, print, again."""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory

from cepsql import __version__
from cepsql.errors import ExitCode, InterfaceError
from cepsql.runner.console import Console
from cepsql.runner.interrupt import interruptible
from cepsql.runner.report import report
from cepsql.runner.settings import Settings
from cepsql.shell.commands import Change, command
from cepsql.shell.complete import SqlCompleter
from cepsql.shell.opening import OpeningEngine
from cepsql.shell.prompt import VERTICAL, WORDS, edited, prompt_session


def run(
    engine: OpeningEngine,
    settings: Settings,
    console: Console,
    verbose: bool = False,
    session: PromptSession | None = None,
    values: Mapping[str, object] | None = None,
) -> int:
    """Prompt for statements and execute them until Ctrl-D or \\q; return the exit code.

    settings, verbose: at the start; the shell's commands change them.
    session:           the editor, one on the terminal if it is not given.
    values:            settings of the editor (`cepsql.configuration`).
    """
    session = session or prompt_session(**_editor(values or {}), completer=SqlCompleter(engine.relations))
    console.say(f"cepsql {__version__} · \\? help")
    return _Shell(engine, replace(settings, footer=True), console, verbose, session).run()


class _Shell:
    """What the shell remembers from one statement to the next."""

    def __init__(
        self, engine: OpeningEngine, settings: Settings, console: Console, verbose: bool, session: PromptSession
    ):
        self._engine, self._console, self._session = engine, console, session
        self._settings, self._verbose = settings, verbose
        self._last, self._next = "", ""

    def run(self) -> int:
        while True:
            try:
                text = self._session.prompt(default=self._next).strip()
            except KeyboardInterrupt:
                self._next = ""
                continue
            except EOFError:
                return ExitCode.OK
            self._next = ""
            text = WORDS.get(text.rstrip("; ").lower(), text)
            if text.startswith("\\"):
                change = command(text, self._settings, self._verbose, lambda: self._engine.get().catalog)
                if change.leave:
                    return ExitCode.OK
                self._apply(change)
            elif text:
                self._last = text
                self._execute(text, self._settings)

    def _apply(self, change: Change) -> None:
        """Do what a command asks for."""
        if change.output is not None:
            try:
                self._console.write_to(change.output)
            except InterfaceError as error:
                report(error, self._console)
                return
        if change.message:
            self._console.say(change.message)
        self._settings, self._verbose = change.settings, change.verbose
        if change.edit:
            self._next = edited(self._last, self._console)
        if change.watch is not None:
            self._watch(change.watch)
        if change.sql:
            self._execute(change.sql, change.once or change.settings, change.file)

    def _watch(self, seconds: float) -> None:
        if not self._last:
            self._console.say("there is no statement to execute again")
            return
        with suppress(KeyboardInterrupt):
            while self._execute(self._last, self._settings):
                self._console.say(f"again in {seconds:g} s; Ctrl-C ends it")
                time.sleep(seconds)

    def _execute(self, text: str, settings: Settings, file: str | None = None) -> bool:
        """Execute statements; tell whether they came to their end."""
        if text.rstrip().endswith(VERTICAL):
            text, settings = text.rstrip().removesuffix(VERTICAL), replace(settings, format="vertical")

        def work(stop: threading.Event) -> None:
            engine = self._engine.get()
            from cepsql.runner.statements import execute

            execute(engine, text, settings, self._console, stop)

        try:
            return not interruptible(work, self._engine.cancel)
        except KeyboardInterrupt:
            self._console.say("abandoned: the query may run on until the shell ends")
        except Exception as error:
            report(error, self._console, self._verbose, file)
        finally:
            self._console.clear()
        return False


def _editor(values: Mapping[str, object]) -> dict:
    """Return what the user's settings say of the editor."""
    history = InMemoryHistory() if values.get("history") is False else None
    return {"history": history, "vi": values.get("editing_mode") == "vi"}
