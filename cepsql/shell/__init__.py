"""The interactive prompt: a thin front over cepsql.runner."""

from cepsql.shell.shell import run

__all__ = ["run"]
