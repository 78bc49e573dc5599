"""A session of the shell as a page shows it, typed again through the real editor, and what the screen then has.

What stands in the page after `cepsql> ` and `   ...> ` is typed. Where a view says in the page that it was stopped,
Ctrl-C is pressed once it has written as many lines as there. `SHOW QUERIES` is typed again until it says what the page
says.
"""

import os
import re
import signal
import threading
import time
from io import StringIO

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.shell.background_engine import OpeningEngine
from cepsql.frontends.shell.prompt import CONTINUATION, PROMPT, is_finished, prompt_session
from cepsql.frontends.shell.shell import run

_PATIENCE = 60.0
_MOMENT = 0.7
"""Seconds in which the micro-batch ends that gave the last rows."""
_ENTER, _CTRL_D = "\r", "\x04"


def typed_again(engine, shown: str) -> tuple[str, str]:
    """Type a session into a shell over an engine; return the shell's first line, and what the screen has below it."""
    begins = [match.start() for match in re.finditer(f"^{re.escape(PROMPT)}", shown, re.MULTILINE)]
    exchanges = [shown[begin:end] for begin, end in zip(begins, [*begins[1:], len(shown)], strict=True)]
    screen = StringIO()
    with create_pipe_input() as keyboard:
        session = prompt_session(keyboard, DummyOutput(), InMemoryHistory())
        session.prompt = _Typist(session.prompt, keyboard.send_text, screen, exchanges).prompt
        assert run(OpeningEngine(lambda: engine), UserChoices(), Console(screen, screen), session=session) == 0
    greeting, end, rest = screen.getvalue().partition("\n")
    # A page does not show how the shell is left.
    return greeting + end, re.sub(r"^stopping quer.*\n\Z", "", rest, flags=re.MULTILINE)


def alike(text: str) -> str:
    """Return what a screen shows without what differs from run to run: durations, moments, processes, order of rows."""
    text = re.sub(r"(?<=, )[\d.]+ s$", "... s", text, flags=re.MULTILINE)
    text = re.sub(r"^( (?:since|lag|owner) +\| ).*$", r"\1...", text, flags=re.MULTILINE)
    text = re.sub(r"\| \d+ (?:s|min|h|d) +\|", "| ... |", text)
    rows = re.compile(r"^(-[-+]*\n)((?: .*\n)+)", re.MULTILINE)
    return rows.sub(lambda match: match[1] + "".join(sorted(match[2].splitlines(keepends=True))), text)


class _Typist:
    """In place of the editor's `prompt`: types the next exchange into it, and puts it on the screen."""

    def __init__(self, prompt, send, screen: StringIO, exchanges: list[str]):
        self._prompt, self._send, self._screen, self._exchanges = prompt, send, screen, exchanges
        self._next, self._begin, self._until = 0, 0, 0.0
        self._answered = threading.Event()

    def prompt(self, **options) -> str:
        self._answered.set()
        if self._look_again():
            time.sleep(0.5)
            self._next -= 1
            self._screen.seek(self._begin)
            self._screen.truncate()
        else:
            self._begin, self._until = self._screen.tell(), time.monotonic() + _PATIENCE
        if self._next == len(self._exchanges):
            # Answers the question whether queries may end with the shell.
            self._send(_CTRL_D)
            raise EOFError
        exchange = self._exchanges[self._next]
        self._next += 1
        typed = re.match(rf"{re.escape(PROMPT)}.*\n(?:{re.escape(CONTINUATION)}.*\n)*", exchange)[0]
        lines = [line[len(PROMPT) :] for line in typed.splitlines()]
        finished = [is_finished("\n".join(lines[:end])) for end in range(1, len(lines) + 1)]
        assert finished.index(True) == len(lines) - 1, f"Enter does not execute, or too early:\n{typed}"
        self._screen.write(typed)
        if stopped := re.search(r"^stopped: ", exchange, re.MULTILINE):
            self._answered = threading.Event()
            above = exchange[: stopped.start()].count("\n")
            threading.Thread(target=self._interrupt, args=(above, self._answered), daemon=True).start()
        self._send(_ENTER.join([*lines, ""]))
        return self._prompt(**options)

    def _look_again(self) -> bool:
        """Tell whether the last exchange was a look at queries which are not as far as the page says."""
        last = self._exchanges[self._next - 1] if self._next else ""
        seen = self._screen.getvalue()[self._begin :]
        return (
            last.startswith(f"{PROMPT}SHOW QUERIES") and alike(seen) != alike(last) and time.monotonic() < self._until
        )

    def _interrupt(self, lines: int, answered: threading.Event) -> None:
        """Press Ctrl-C a moment after an exchange has so many lines, unless it has ended by itself."""
        while self._screen.getvalue()[self._begin :].count("\n") < lines and time.monotonic() < self._until:
            if answered.wait(0.1):
                return
        if not answered.wait(_MOMENT):
            os.kill(os.getpid(), signal.SIGINT)
