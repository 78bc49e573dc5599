"""The peak memory of a process and all its descendants, sampled through /proc."""

import threading
from pathlib import Path

INTERVAL_SECONDS = 0.2


class PeakMemory:
    """Samples `pid` and the processes below it while entered; `mebibytes` is the greatest sum of their peaks so far.

    The peak of a process is VmHWM, the most memory that it ever had resident. Pages that processes share count for each
    of them, and the peaks of two processes need not fall together, so the sum is an upper bound.
    """

    def __init__(self, pid: int):
        self.mebibytes = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            kibibytes = sum(map(_peak_kibibytes, descendants(self._pid)))
            self.mebibytes = max(self.mebibytes, kibibytes / 1024)


def descendants(pid: int) -> list[int]:
    """Return the id of a process and the ids of all processes below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (parent := _parent(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found


def _parent(folder: Path) -> int | None:
    try:
        # The command name before the last parenthesis may itself hold spaces and parentheses.
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


def _peak_kibibytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
