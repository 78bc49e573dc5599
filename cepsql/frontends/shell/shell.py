"""Read, execute, print, again."""

import enum
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.utils import is_dumb_terminal

from cepsql import __version__
from cepsql.errors import Error, ExitCode, InterfaceError
from cepsql.frontends.configuration import config_folder
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.error_report import report
from cepsql.frontends.runner.interrupt import interruptible
from cepsql.frontends.runner.pager import pager_command
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.working import working
from cepsql.frontends.shell.background_engine import OpeningEngine
from cepsql.frontends.shell.commands import NO_QUERIES, CommandRequest, command, help_text
from cepsql.frontends.shell.complete import SqlCompleter
from cepsql.frontends.shell.prompt import (
    VERTICAL,
    WORDS,
    announce,
    command_within,
    edited,
    parts_typed,
    prompt_session,
    question,
)
from cepsql.frontends.shell.query_watch import QueryWatch
from cepsql.frontends.shell.quiet_keys import unechoed
from cepsql.frontends.shell.top import top

if TYPE_CHECKING:
    from cepsql.engine import Engine


def run(
    engine: OpeningEngine,
    settings: UserChoices,
    console: Console,
    verbose: bool = False,
    session: PromptSession | None = None,
    values: Mapping[str, object] | None = None,
    history: History | None = None,
) -> int:
    """Prompt for statements and execute them until Ctrl-D or \\q; return the exit code.

    settings, verbose: at the start; the shell's commands change them.
    session:           the editor, one on the terminal if it is not given.
    values:            settings of the editor (`cepsql.frontends.configuration`).
    history:           earlier statements, in place of those of the user's file.
    """
    completer = SqlCompleter(engine.relations, lambda: engine.functions, engine.queries, engine.sinks)
    editor = session or prompt_session(
        **_editor(values or {}, history), completer=completer, help=lambda: console.say(help_text())
    )
    console.say(f"cepsql {__version__} · \\? help")
    pager = tuple(pager_command()) if (values or {}).get("pager", True) and not is_dumb_terminal() else ()
    confirm = (values or {}).get("confirm") is not False
    shell = _Shell(engine, replace(settings, footer=True, pager=pager), console, verbose, editor, confirm)
    shell.execute_init(config_folder() / "init.sql")
    return shell.run()


class _CommandEnd(enum.Enum):
    """What a command of the shell came to."""

    TO_ITS_END = enum.auto()
    TO_NOTHING = enum.auto()
    TO_LEAVE = enum.auto()


class _Shell:
    """What the shell remembers from one statement to the next."""

    def __init__(
        self,
        engine: OpeningEngine,
        settings: UserChoices,
        console: Console,
        verbose: bool,
        session: PromptSession,
        confirm: bool,
    ):
        self._engine, self._console, self._session = engine, console, session
        self._settings, self._verbose = settings, verbose
        self._last, self._next = "", ""
        self._shown = ""
        """The last query that gave rows."""
        self._error: Exception | None = None
        self._asking: PromptSession[str] | None = None
        self._confirm = confirm
        self._files: list[Path] = []
        self._watch = QueryWatch(
            engine, lambda text: announce(self._asking or session, text, console), self._show_toolbar
        )

    def execute_init(self, file: Path) -> None:
        """Execute the user's statements for the beginning of each session, if there are some."""
        if file.exists():
            self._obey(f"\\i {file}")

    def run(self) -> int:
        """Prompt and execute until the user leaves."""
        with self._watch:
            while True:
                try:
                    text = self._session.prompt(default=self._next).strip()
                except KeyboardInterrupt:
                    self._next = ""
                    continue
                except EOFError:
                    text = "\\q"
                self._next = ""
                for part in parts_typed(WORDS.get(text.rstrip("; ").lower(), text)):
                    came = self._do(part)
                    if came is _CommandEnd.TO_LEAVE and self._may_leave():
                        self._tell_leaving()
                        return ExitCode.OK
                    if came is not _CommandEnd.TO_ITS_END:
                        break

    def _do(self, text: str) -> _CommandEnd:
        """Do what was typed: statements, or a command, which may stand behind a statement that is still to be ended."""
        before, text = command_within(text) or ("", text)
        self._last = before or self._last
        if text.startswith("\\"):
            came = self._obey(text)
            if before:
                self._next = self._next or f"{before}\n"
            return came
        self._last = text or self._last
        return _CommandEnd.TO_ITS_END if not text or self._execute(text, self._settings) else _CommandEnd.TO_NOTHING

    def _show_toolbar(self, text: str) -> None:
        self._session.bottom_toolbar = text or None
        self._session.app.invalidate()

    def _may_leave(self) -> bool:
        """Ask the user whether queries that end with this process may end."""
        names = self._engine.own_queries()
        if not names:
            return True
        one = len(names) == 1
        asked = f"{_listed(names)} {'runs' if one else 'run'} in this shell and {'ends' if one else 'end'} with it."
        return self._agrees(f"{asked} Leave? [y/N] ", at_end=True)

    def _tell_leaving(self) -> None:
        """Say what the end of the shell waits for."""
        if names := self._engine.own_queries():
            each = "it ends" if len(names) == 1 else "they end"
            self._console.say(f"stopping {_listed(names)}: {each} with the batch that runs, which may take a minute")

    def _may_drop(self, loss: str) -> bool:
        """Ask the user whether what cannot be had again may go; called by the thread that executes statements."""
        return self._agrees(f"drop {loss}? [y/N] ", at_end=False)

    def _agrees(self, asked: str, at_end: bool) -> bool:
        """Ask the user something; `at_end` is what Ctrl-D answers."""
        self._asking = question(self._session)
        try:
            return self._asking.prompt(asked).strip().lower() in ("y", "yes")
        except EOFError:
            return at_end
        except KeyboardInterrupt:
            return False
        finally:
            self._asking = None

    def _obey(self, text: str, place: str | None = None) -> "_CommandEnd":
        """Do what a command says, or tell why that cannot be; `place` is where it stands in a file."""
        try:
            change = command(text, self._settings, self._verbose, lambda: self._engine.get().catalog)
            if not self._apply(change):
                return _CommandEnd.TO_NOTHING
        except Error as error:
            report(error, self._console, file=place)
        except (OSError, ValueError, RuntimeError) as failure:
            report(InterfaceError(f"{text.split()[0]} cannot be done: {failure}"), self._console, file=place)
        except KeyboardInterrupt:
            self._console.say("interrupted")
        else:
            return _CommandEnd.TO_LEAVE if change.leave else _CommandEnd.TO_ITS_END
        return _CommandEnd.TO_NOTHING

    def _apply(self, change: CommandRequest) -> bool:
        """Do what a command asks for; tell whether the statements that it executes came to their end."""
        if change.output is not None:
            self._console.write_to(change.output)
        if change.message:
            self._console.say(change.message)
        self._settings, self._verbose = change.settings, change.verbose
        if change.details:
            self._tell_details()
        if change.edit:
            self._next = edited(self._last, self._console)
        if change.watch is not None:
            self._repeat(change.watch, change.times)
        if change.top:
            self._top()
        if change.tail is not None:
            return self._tail(*change.tail)
        if change.plot is not None:
            return self._plot(*change.plot)
        if change.file is not None:
            return self._execute_file(change.sql, change.file)
        return not change.sql or self._execute(change.sql, change.once or change.settings)

    def _execute_file(self, text: str, file: str) -> bool:
        """Execute the statements and commands of a file, up to its \\q; tell whether all came to their end."""
        if (path := Path(file).expanduser().resolve()) in self._files:
            raise InterfaceError(f"{file} includes itself")
        self._files.append(path)
        try:
            for part in parts_of_file(text):
                said = part.lstrip("\n")
                if not said.lstrip().startswith("\\"):
                    came = (
                        _CommandEnd.TO_ITS_END if self._execute(part, self._settings, file) else _CommandEnd.TO_NOTHING
                    )
                else:
                    line = len(part) - len(said) + 1
                    came = self._obey(said.strip(), f"{file}:{line}")
                if came is not _CommandEnd.TO_ITS_END:
                    return came is _CommandEnd.TO_LEAVE
        finally:
            self._files.pop()
        return True

    def _tell_details(self) -> None:
        """Tell all that is known of the last error, and of the last query that failed."""
        failure = self._watch.failure
        if self._error is not None:
            report(self._error, self._console, verbose=True)
        if failure is not None:
            self._console.say(f"query {failure.query} failed: {failure.message}")
            self._console.say((failure.detail or "DESCRIBE QUERY shows how it does").rstrip())
        if self._error is None and failure is None:
            self._console.say("there was no error")

    def _top(self) -> None:
        if not self._engine.get().catalog.names.queries:
            self._console.say(NO_QUERIES)
            return
        try:
            top(self._engine.query_states, self._console)
        except Error as error:
            report(error, self._console, self._verbose)

    def _repeat(self, seconds: float, times: int | None) -> None:
        """Execute the last statement until it fails, Ctrl-C is pressed, or it was executed so many times."""
        if not self._last:
            self._console.say("there is no statement to execute again")
            return
        left = math.inf if times is None else times
        try:
            while left > 0 and self._execute(self._last, self._settings):
                left -= 1
                if left > 0:
                    self._console.status(f"again in {seconds:g} s; Ctrl-C ends it")
                    time.sleep(seconds)
                    self._console.clear()
        except KeyboardInterrupt:
            self._console.clear()
            self._console.echoed()

    def _tail(self, name: str, rows: int) -> bool:
        """Show the last rows of a query and those that leave it; tell whether that came to its end."""

        def tail(engine: "Engine", stop: threading.Event) -> None:
            from cepsql.frontends.runner.follow import follow

            zone = engine.zone_name() or "UTC"
            follow(engine.subscribe(name, last=rows), zone, self._settings, self._console, stop)

        return self._interruptible(f"SUBSCRIBE {name}", tail)

    def _plot(self, x: str, y: str, file: str) -> bool:
        """Draw two columns of the last query that gave rows; tell whether that came to its end."""
        shown = self._shown
        if not shown:
            self._console.say("there is no result to draw; \\plot draws the last SELECT that gave one")
            return False

        def draw(engine: "Engine", stop: threading.Event) -> None:
            with working(self._console, lambda: "drawing" if engine.has_started else "waiting for Spark"):
                query = engine.query(shown, dict(self._settings.args))
                if file:
                    query.plot(x, y).savefig(Path(file).expanduser())
                    drawn = []
                else:
                    drawn = query.drawing(x, y, (self._console.columns or 80) - 1).splitlines()
            self._console.rows(drawn)
            if file:
                self._console.say(f"{file} written")

        return self._interruptible(shown, draw)

    def _execute(self, text: str, settings: UserChoices, file: str | None = None) -> bool:
        """Execute statements; tell whether they came to their end."""
        if text.rstrip().endswith(VERTICAL):
            text, settings = text.rstrip().removesuffix(VERTICAL), replace(settings, format="vertical")

        def run(engine: "Engine", stop: threading.Event) -> None:
            from cepsql.frontends.runner.execute import execute

            # What a file says was not typed just now.
            asks = self._confirm and file is None
            execute(engine, text, settings, self._console, stop, self._may_drop if asks else None, self._remember)

        return self._interruptible(text, run, file)

    def _remember(self, query: str) -> None:
        self._shown = query

    def _interruptible(
        self, text: str, run: "Callable[[Engine, threading.Event], None]", file: str | None = None
    ) -> bool:
        """Run what a text says to its end or Ctrl-C, and tell what fails; tell whether it came to its end."""
        try:
            with unechoed():
                stopped = interruptible(
                    lambda stop: run(self._engine.get(), stop), self._engine.cancel, self._console.paging
                )
            if stopped and (names := self._engine.own_queries()):
                self._console.say(f"{_listed(names)} {'keeps' if len(names) == 1 else 'keep'} running")
            return not stopped
        except KeyboardInterrupt:
            self._console.say("abandoned: the query may run on until the shell ends")
        except Exception as error:
            self._error = error
            report(error, self._console, self._verbose, file, text)
        finally:
            self._console.clear()
        return False


def parts_of_file(text: str) -> list[str]:
    """Split a file where a line is a command; each part stands in as many lines as in the file, so that errors fit.

    >>> parts_of_file("SELECT 1;\\n\\\\x on\\nSELECT 2;")
    ['SELECT 1;', '\\n\\\\x on', '\\n\\nSELECT 2;']
    """
    parts: list[str] = []
    behind_command = True
    for number, line in enumerate(text.split("\n")):
        is_command = line.startswith("\\")
        if is_command or behind_command:
            parts.append("\n" * number + line)
        else:
            parts[-1] += f"\n{line}"
        behind_command = is_command
    return [part for part in parts if part.strip()]


def _listed(names: list[str]) -> str:
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names)}"


def _editor(values: Mapping[str, object], history: History | None) -> dict:
    """Return what the user's settings say of the editor; `history` beats what they say of it."""
    history = InMemoryHistory() if history is None and values.get("history") is False else history
    return {"history": history, "vi": values.get("editing_mode") == "vi"}
