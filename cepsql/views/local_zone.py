"""The time zone of this machine, by its name."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo


def local_zone() -> str | None:
    """Return the time zone that Java treats as that of the machine, None if its name is unknown."""
    name = os.environ.get("TZ") or _linked() or _written()
    try:
        return ZoneInfo(name).key if name else None
    except (ValueError, OSError, KeyError):
        return None


def _linked() -> str | None:
    target = os.path.realpath("/etc/localtime")
    return target.partition("zoneinfo/")[2] or None


def _written() -> str | None:
    try:
        return Path("/etc/timezone").read_text("utf-8").strip()
    except OSError:
        return None
