"""The shell's own commands, which begin with a backslash."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cepsql.catalog import Relation, View
from cepsql.render import FORMATS
from cepsql.runner import Settings

HELP = """\
SQL statements end with ; and may have several lines.
  \\d             list streams, tables and views
  \\d NAME        describe one
  \\format NAME   write rows as table, csv or json
  \\errverbose    show technical details of errors, or no longer
  \\?             this help
  \\q             leave (also Ctrl-D)
Keys: Enter runs a finished statement, Alt-Enter an unfinished one; Ctrl-C stops a streaming SELECT or clears the
line; Ctrl-R searches the history; the right arrow takes the grey suggestion."""

NOTHING = "no stream, table or view is defined"


@dataclass(frozen=True)
class Change:
    """What a command asks for: new settings, SQL to execute, a message, or to leave."""

    settings: Settings
    verbose: bool
    sql: str = ""
    message: str = ""
    leave: bool = False


def command(line: str, settings: Settings, verbose: bool, catalog: Iterable[Relation]) -> Change:
    """Read a backslash command; `catalog` is what `\\d` lists."""
    same = Change(settings, verbose)
    name, _, argument = line.rstrip("; \t\n").partition(" ")
    argument = argument.strip()
    match name, argument:
        case "\\?", "":
            return replace(same, message=HELP)
        case "\\q", "":
            return replace(same, leave=True)
        case "\\d", "":
            kinds = dict.fromkeys(map(_kind, catalog))
            return replace(same, sql="; ".join(f"SHOW {kind}" for kind in kinds), message="" if kinds else NOTHING)
        case "\\d", _:
            return replace(same, sql=f"DESCRIBE {argument}")
        case "\\format", "":
            return replace(same, message=f"format is {settings.format}")
        case "\\format", _ if argument in FORMATS:
            return replace(same, settings=replace(settings, format=argument), message=f"format is {argument}")
        case "\\format", _:
            return replace(same, message=f"there is no format {argument}; formats: {', '.join(FORMATS)}")
        case "\\errverbose", "":
            return replace(same, verbose=not verbose, message=f"details of errors are {'off' if verbose else 'on'}")
    return replace(same, message=f"there is no command {line.strip()}; \\? lists them")


def _kind(relation: Relation) -> str:
    if isinstance(relation, View):
        return "VIEWS"
    return "STREAMS" if relation.streaming else "TABLES"
