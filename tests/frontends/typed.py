"""The shell with an engine without Spark, and keys that are typed once what they are for is there."""

import io
import threading
import time
from collections.abc import Callable, Mapping

from prompt_toolkit.application import create_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.history import History
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.shell.background_engine import OpeningEngine
from cepsql.frontends.shell.prompt import prompt_session
from cepsql.frontends.shell.shell import run

CLEAR_AND_LEAVE = "\x03\x04"
_PATIENCE = 30.0
"""Seconds after which a test goes on, and then fails by what was not executed."""


def type_to(engine, keys: str, history: History, values: Mapping[str, object] | None = None):
    """Type all keys at once; return the exit code, what was written as rows, and what was said."""
    console = Console(io.StringIO(), io.StringIO())
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        session = prompt_session(pipe, DummyOutput(), history)
        code = run(OpeningEngine(lambda: engine), UserChoices(format="csv"), console, session=session, values=values)
    return code, console.out.getvalue(), console.err.getvalue()


def type_in_turn(engine, typed: list[str | Callable[[Buffer], bool]], values: Mapping[str, object]) -> None:
    """Type keys into the editor that the settings ask for; a condition is waited for before what follows it."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()) as session:

        def type_all() -> None:
            for keys in typed:
                if isinstance(keys, str):
                    pipe.send_text(keys)
                    continue
                end = time.monotonic() + _PATIENCE
                while time.monotonic() < end and (session.app is None or not keys(session.app.current_buffer)):
                    time.sleep(0.005)
            if not left.wait(_PATIENCE):
                pipe.send_text(CLEAR_AND_LEAVE)

        left = threading.Event()
        typist = threading.Thread(target=type_all, daemon=True)
        typist.start()
        run(
            OpeningEngine(lambda: engine),
            UserChoices(format="csv"),
            Console(io.StringIO(), io.StringIO()),
            values=values,
        )
        left.set()
        typist.join()
