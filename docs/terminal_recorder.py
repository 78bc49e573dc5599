"""Record what a program shows in a real terminal, that of tmux, while keys are typed."""

import itertools
import re
import shlex
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from terminal_svg import Frame, plain

_LOOK = 0.08
_MOST = 0.6
"""Seconds: how often the screen is looked at, and for how long at most an unchanged one is shown."""

_COUNTING, _TICKS = re.compile(r"[\d,.#]+|\x1b\[[\d;]*m"), 4
"""What changes in a line that only shows that time goes on, and how many such frames are kept."""

_KEY = 0.09
_HELD, _LAST = 3.0, 7.0


class Recorder:
    """A terminal of tmux with a command in it; `frames` are what it has shown."""

    def __init__(self, command: Sequence[str], columns: int, rows: int, env: Mapping[str, str]):
        self._socket = f"cepsql-{uuid.uuid4().hex[:8]}"
        self._taken: list[tuple[float, tuple[str, ...], tuple[int, int] | None]] = []
        self._held: list[tuple[str, ...]] = []
        given = [f"{name}={value}" for name, value in env.items()]
        line = shlex.join(["env", *given, *command])
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), line)
        self._tmux("set", "-g", "status", "off")

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True)

    def forget(self) -> None:
        """Begin the recording here, a moment after the last key."""
        time.sleep(1)
        self._tmux("clear-history")
        self._taken.clear()
        self._look()

    def type(self, text: str) -> None:
        """Type a text as people do, a word at a time; a line end is Enter."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.press("Enter")
            for word in re.findall(r"\s*\S+ ?", line):
                # tmux takes a semicolon at the end of an argument for the end of its command.
                self._tmux("send-keys", "-l", "--", re.sub(r";$", r"\\;", word))
                time.sleep(_KEY)
                self._look()

    def press(self, key: str) -> None:
        """Press a key, called as in tmux."""
        self._tmux("send-keys", key)
        time.sleep(_KEY)
        self._look()

    def wait(self, until: Callable[[str], bool], seconds: float = 300) -> str:
        """Record until the screen's text is as it should be; return it."""
        end = time.monotonic() + seconds
        while not until(text := self.text()):
            if time.monotonic() > end:
                raise TimeoutError(text)
            time.sleep(_LOOK)
            self._look()
        return text

    def hold(self) -> None:
        """Show what is on the screen now for longer; it is what stands for the whole where nothing moves."""
        self._look()
        self._held.append(self._taken[-1][1])

    def text(self) -> str:
        """Return what was shown since the recording began, without colours."""
        return "\n".join(map(plain, self._tmux("capture-pane", "-p", "-S", "-").split("\n"))).rstrip("\n")

    def frames(self) -> list[Frame]:
        """Return what was shown, each state of the screen once; waiting is made short."""
        self._look()
        times = [taken[0] for taken in self._taken]
        spans = [min(_MOST, after - before) for before, after in itertools.pairwise(times)]
        frames = [
            Frame(lines, cursor, _HELD if lines in self._held else span, lines in self._held)
            for (_, lines, cursor), span in zip(self._taken, [*spans, _LAST], strict=True)
        ]  # fmt: skip
        kept: list[Frame] = []
        for same in itertools.groupby(frames, key=lambda frame: _COUNTING.sub("", "\n".join(frame.lines))):
            ticks = list(same[1])
            kept += ticks if len(ticks) <= _TICKS else [*ticks[: _TICKS - 1], ticks[-1]]
        return kept

    def _look(self) -> None:
        lines = tuple(self._tmux("capture-pane", "-e", "-p").rstrip("\n").split("\n"))
        x, y, shown = self._tmux("display", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()
        cursor = (int(x), int(y)) if shown == "1" else None
        if not self._taken or self._taken[-1][1:] != (lines, cursor):
            self._taken.append((time.monotonic(), lines, cursor))

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=True)
        return done.stdout
