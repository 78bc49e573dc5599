"""Read, execute, print, again."""

import threading
from collections.abc import Mapping
from dataclasses import replace

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory

from cepsql import __version__
from cepsql.errors import ExitCode
from cepsql.runner.console import Console
from cepsql.runner.interrupt import interruptible
from cepsql.runner.report import report
from cepsql.runner.settings import Settings
from cepsql.shell.commands import command
from cepsql.shell.complete import SqlCompleter
from cepsql.shell.opening import OpeningEngine
from cepsql.shell.prompt import WORDS, prompt_session


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
    settings = replace(settings, footer=True)
    console.say(f"cepsql {__version__} · \\? help")
    while True:
        try:
            text = session.prompt().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return ExitCode.OK
        once = settings
        text = WORDS.get(text.rstrip("; ").lower(), text)
        if text.startswith("\\"):
            change = command(text, settings, verbose, lambda: engine.get().catalog)
            if change.leave:
                return ExitCode.OK
            if change.message:
                console.say(change.message)
            settings, verbose, text = change.settings, change.verbose, change.sql
            once = change.once or settings
        if text:
            _execute(engine, text, once, console, verbose)


def _editor(values: Mapping[str, object]) -> dict:
    """Return what the user's settings say of the editor."""
    history = InMemoryHistory() if values.get("history") is False else None
    return {"history": history, "vi": values.get("editing_mode") == "vi"}


def _execute(engine: OpeningEngine, text: str, settings: Settings, console: Console, verbose: bool) -> None:
    def work(stop: threading.Event) -> None:
        from cepsql.runner.statements import execute

        execute(engine.get(), text, settings, console, stop)

    try:
        interruptible(work, engine.cancel)
    except KeyboardInterrupt:
        console.say("abandoned: the query may run on until the shell ends")
    except Exception as error:
        report(error, console, verbose)
    console.clear()
