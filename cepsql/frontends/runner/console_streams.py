"""Where output goes: rows to one text stream, everything else to another, from any thread."""

import os
import threading
from collections.abc import Iterable
from typing import TextIO

from cepsql.errors import InterfaceError, OperationalError, escaped
from cepsql.frontends.runner.wrapped import fitting, wrapped

_CLEAR = "\r\x1b[J"
_UP = "\x1b[A"
_LABEL, _RED, _PLAIN = "error:", "\x1b[1;31m", "\x1b[0m"
KEPT_FREE = 4
"""Cells at the end of each line of the status that stay empty."""


def _screen(stream: TextIO) -> os.terminal_size | None:
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno())
    except OSError:
        return None


def _columns(stream: TextIO) -> int | None:
    screen = _screen(stream)
    return screen.columns or None if screen is not None else None


def open_output(file: str) -> TextIO:
    """Open a file for rows.

    Raises InterfaceError if it cannot be written.
    """
    try:
        return open(os.path.expanduser(file), "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InterfaceError(f"{file} cannot be written: {error.strerror}") from error


class Console:
    """Standard output for rows and standard error for messages, with a status at the end of the latter, which changes.

    closed: set once the reader of the rows is gone (`| head`); rows are dropped from then on.
    paging: set while a pager has the terminal, and Ctrl-C is the pager's.
    """

    def __init__(self, out: TextIO, err: TextIO):
        self.out, self.err = out, err
        self._first = out
        self.closed, self.paging = threading.Event(), threading.Event()
        self._lock = threading.RLock()
        self._status = ""

    def write_to(self, file: str) -> None:
        """Let rows go to a file from now on, or to standard output for "".

        Raises InterfaceError if the file cannot be written, or the one before could not be to its end.
        """
        opened = open_output(file) if file else self._first
        before, self.out = self.out, opened
        self.closed.clear()
        if before is not self._first:
            try:
                before.close()
            except OSError as error:
                raise InterfaceError(f"the last rows could not be written: {error.strerror or error}") from error

    @property
    def color(self) -> bool:
        """Whether messages may be coloured."""
        return self.live and not os.environ.get("NO_COLOR")

    @property
    def columns(self) -> int | None:
        """How many cells a line of rows has on the screen, None if they are not shown on one."""
        return _columns(self.out)

    @property
    def lines(self) -> int | None:
        """How many lines of rows the screen has, None if they are not shown on one."""
        screen = _screen(self.out)
        return screen.lines or None if screen is not None else None

    @property
    def width(self) -> int | None:
        """How many cells a line of a message has on the screen, None if they are not shown on one."""
        return _columns(self.err)

    @property
    def live(self) -> bool:
        """Whether a status line can be rewritten in place."""
        return self.err.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def rows(self, lines: Iterable[str]) -> None:
        """Write lines of a result at once; quietly nothing if nobody reads them any more.

        A terminal gets none of their control characters, which programs get as they are.

        Raises OperationalError where they cannot be written.
        """
        with self._lock:
            self.clear()
            if self.closed.is_set():
                return
            try:
                text = "".join(f"{line}\n" for line in lines)
                self.out.write(escaped(text) if self.out.isatty() else text)
                self.out.flush()
            except BrokenPipeError:
                self.closed.set()
            except OSError as error:
                # What is left in the buffer would fail once more at the end.
                self.closed.set()
                raise OperationalError(f"the rows cannot be written: {error.strerror}") from error

    def say(self, text: str, error: bool = False) -> None:
        """Write a message, in place of the status line if there is one; before an error stands that it is one."""
        with self._lock:
            self.clear()
            shown = wrapped(escaped(f"{_LABEL} {text}" if error else text), self.width)
            if error and self.color:
                shown = f"{_RED}{_LABEL}{_PLAIN}{shown.removeprefix(_LABEL)}"
            print(shown, file=self.err, flush=True)

    def status(self, text: str) -> None:
        """Show a status of a line or more; where it cannot be rewritten it is a message like others."""
        with self._lock:
            if not self.live:
                self.say(text)
            elif text != self._status:
                width = self.width or 80
                # A line that wraps could not be taken back, and the terminal may write ^C at its end.
                shown = "\n".join(fitting(line, width - KEPT_FREE) for line in escaped(text).split("\n"))
                self.err.write(self._up() + _CLEAR + shown)
                self.err.flush()
                self._status = text

    def replace_status(self, before: str, text: str) -> bool:
        """Show a status in place of another one; False, and nothing happens, if that is not shown any more."""
        with self._lock:
            if self._status != before:
                return False
            self.status(text)
            return True

    def _up(self) -> str:
        return _UP * self._status.count("\n")

    def clear(self) -> None:
        """Take the status away."""
        with self._lock:
            if self._status:
                self.err.write(self._up() + _CLEAR)
                self.err.flush()
                self._status = ""

    def resumed(self) -> None:
        """Leave the status where it is: the process was stopped by Ctrl-Z, and others have written below it since."""
        with self._lock:
            self._status = ""

    def echoed(self) -> None:
        """Take away the `^C` that the terminal has echoed."""
        if self.live:
            self.err.write(_CLEAR)
        elif self.err.isatty():
            self.err.write("\n")
