"""Mounted file systems, and mount points whose file system is not mounted."""

import os
import re
from functools import reduce
from pathlib import Path

from cepsql.errors import OperationalError

MOUNTED, EXPECTED = Path("/proc/self/mountinfo"), Path("/etc/fstab")
"""The lists of mounted file systems, and of those that the machine is to mount. Not every system has them."""


def mount_point(path: Path) -> Path:
    """Return the mount point of the file system of a path, which need not exist."""
    real = Path(os.path.realpath(path))
    places = {real, *real.parents} & {*_mounted(), Path(real.anchor)}
    return reduce(lambda deepest, place: max(deepest, place, key=lambda one: len(one.parts)), places)


def covering(before: str | None, path: Path) -> Path | None:
    """Return the mount point of a file system that was mounted over a path since its mount point was `before`."""
    if before is None:
        return None
    now = mount_point(path)
    return now if Path(before) in now.parents else None


def check_still_mounted(before: str | None, path: Path, what: str) -> None:
    """Raise OperationalError if the file system that was mounted at `before` is no longer the one of a path."""
    if before is None:
        return
    now = mount_point(path)
    if Path(before) not in (now, *now.parents):
        raise OperationalError(
            f"{what} {path} was on the disk of {before}, which is not mounted",
            hint="mount it: the next start resumes with this batch",
        )


def check_mounted(path: Path, what: str) -> None:
    """Raise OperationalError if a path is in an empty mount point of a disk that the machine is to mount.

    Files written there would be hidden once the disk is mounted.
    what: the subject of the error.
    """
    place = unmounted(path)
    if place is not None:
        raise OperationalError(
            f"{what} cannot be at {path}: the disk of {place} is not mounted",
            hint=f"mount it; if none belongs there, remove {place} from {EXPECTED}",
        )


def unmounted(path: Path) -> Path | None:
    """Return the empty mount point of a path whose disk the machine has yet to mount, or None.

    Files written there are hidden once the disk is mounted.
    """
    real = Path(os.path.realpath(path))
    above, mounted = {real, *real.parents}, set(_mounted())
    away = (place for place in _listed(EXPECTED, 1) if place in above and place not in mounted)
    return next((place for place in away if _is_empty(place)), None)


def _mounted() -> list[Path]:
    return _listed(MOUNTED, 4)


def _listed(file: Path, field: int) -> list[Path]:
    """Return the mount points that a file lists, one a line, in a field."""
    try:
        lines = file.read_text("utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    fields = (line.split() for line in lines if not line.lstrip().startswith("#"))
    mount_points = (each[field] for each in fields if len(each) > field)
    return [Path(_unescaped(place)) for place in mount_points if place.startswith("/")]


def _unescaped(text: str) -> str:
    """Return a path with its octal escapes, such as those of blanks, replaced."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return False
