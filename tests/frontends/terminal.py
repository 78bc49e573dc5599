"""A real terminal (a pseudo terminal of the system) in which a test types and reads what a user would see."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Sequence

_PLAIN = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
"""The terminal does not tell where its cursor is."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b[=>]|\r")


class Terminal:
    """A command in a terminal of so many rows and columns.

    written: all that the command wrote, with control sequences.
    """

    def __init__(self, command: Sequence[str], rows: int = 40, columns: int = 120, env: dict[str, str] | None = None):
        self._master, slave = os.openpty()
        self.resize(rows, columns)
        # A session of its own, whose terminal this is: Ctrl-C then makes a signal as it does for a user.
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, **_PLAIN, **(env or {})},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self._text, self._read = "", 0
        self.written = b""
        self._came = threading.Condition()
        threading.Thread(target=self._follow, daemon=True).start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def expect(self, pattern: str, seconds: float = 120) -> re.Match:
        """Wait for text after what was expected before; return what matched."""
        deadline = time.monotonic() + seconds
        with self._came:
            while True:
                match = re.search(pattern, self._text[self._read :])
                if match:
                    self._read += match.end()
                    return match
                left = deadline - time.monotonic()
                assert left > 0, f"{pattern} was not shown in\n{self._text[self._read :][-3000:]}"
                self._came.wait(left)

    def expect_keys(self, seconds: float = 120) -> None:
        """Wait until the command reads each key as it is typed; before that the terminal echoes it."""
        deadline = time.monotonic() + seconds
        while termios.tcgetattr(self._master)[3] & termios.ECHO:
            assert time.monotonic() < deadline, "the command does not read keys"
            time.sleep(0.01)

    @property
    def shown(self) -> str:
        """All that was shown so far, without control sequences."""
        return self._text

    def _follow(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            with self._came:
                self.written += data
                self._text += _CONTROL.sub("", data.decode(errors="replace"))
                self._came.notify_all()
