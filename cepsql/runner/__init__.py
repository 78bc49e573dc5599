"""Execute statements and print what they give: what -c, -f, standard input and the shell have in common."""

from cepsql.runner.check import checked
from cepsql.runner.console import Console
from cepsql.runner.interrupt import interruptible
from cepsql.runner.report import exit_code, report
from cepsql.runner.settings import Settings
from cepsql.runner.statements import execute

__all__ = ["Console", "Settings", "checked", "execute", "exit_code", "interruptible", "report"]
