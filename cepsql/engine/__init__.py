"""The front door: statements in, lazy queries and answers out. Shell, command line and programs use this alone."""

from cepsql.engine.engine import Engine
from cepsql.engine.opening import connect, opened_catalog
from cepsql.engine.settings import ANSI, SETTINGS

__all__ = ["ANSI", "SETTINGS", "Engine", "connect", "opened_catalog"]
