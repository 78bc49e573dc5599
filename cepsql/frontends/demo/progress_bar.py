"""The progress of a replay: a bar that moves on a terminal, a line for every quarter elsewhere."""

import sys
import time

from cepsql.render.bar import bar


class ProgressBar:
    """Shows how many of `total` rows were read and how many rows came out; times are in seconds since it was made."""

    def __init__(self, total: int):
        self._total, self._begin, self._quarters = total, time.monotonic(), 0

    def show(self, read: int, matches: int) -> None:
        """Show the progress."""
        done = min(read / self._total, 1.0) if self._total else 1.0
        text = f"{read:>6,} of {self._total:,} rows, {matches} found, {time.monotonic() - self._begin:.0f} s"
        if sys.stdout.isatty():
            print(f"\r   {bar(done)} {text}\x1b[K", end="", flush=True)
        elif int(4 * done) > self._quarters:
            self._quarters = int(4 * done)
            print(f"   {text}", flush=True)

    def clear(self) -> None:
        """Remove the bar."""
        if sys.stdout.isatty():
            print("\r\x1b[K", end="", flush=True)
