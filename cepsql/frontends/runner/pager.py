"""A program in which people turn the pages of a result that does not fit the screen."""

import os
import shlex
import subprocess
from collections.abc import Iterable

from cepsql.errors import escaped
from cepsql.frontends.runner.console_streams import Console

_LESS = "FRSX"
"""Ends by itself on one screen, shows colours, does not wrap, and leaves on the screen what it showed."""


def pager_command() -> list[str]:
    """Return the user's pager: $CEPSQL_PAGER, $PAGER, or less; [] if they want none."""
    named = os.environ.get("CEPSQL_PAGER", os.environ.get("PAGER", "less"))
    return [] if named.strip() in ("", "cat") else command_words(named)


def command_words(named: str) -> list[str]:
    """Return a program and its arguments as a shell splits them; with a quote that stays open it is one word."""
    try:
        return shlex.split(named)
    except ValueError:
        return [named]


def paged(lines: Iterable[str], command: list[str], console: Console) -> None:
    """Show lines in a pager until the user leaves it; on the screen if it cannot be run."""
    text = escaped("".join(f"{line}\n" for line in lines))
    console.clear()
    console.paging.set()
    try:
        subprocess.run(
            command, input=text, text=True, encoding="utf-8", errors="replace", check=False,
            env={"LESS": _LESS, **os.environ},
        )  # fmt: skip
    except OSError:
        console.rows(text.splitlines())
    finally:
        console.paging.clear()
