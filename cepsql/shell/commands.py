"""The shell's own commands, which begin with a backslash."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cepsql.catalog import Relation, View
from cepsql.formats import FORMATS
from cepsql.runner.settings import Settings
from cepsql.shell.statement_help import statement_help

KEYS = """\
Enter runs a finished statement, Alt-Enter an unfinished one. Ctrl-C stops a SELECT or clears the line; Ctrl-D leaves.
Tab completes; Ctrl-R searches the history; the right arrow takes the grey suggestion."""

NOTHING = "no stream, table or view is defined"

Catalog = Callable[[], Iterable[Relation]]
"""Gives the relations that are defined; asked only where they matter, for it waits for the engine."""

_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True)
class Change:
    """What a command asks for: new settings, SQL to execute, a message, or to leave.

    once:   settings for `sql` alone, None for those that stay.
    file:   where `sql` stands, None if it was typed.
    output: the file that rows go to from now on, "" for the screen.
    edit:   open the editor on the last statement.
    watch:  execute the last statement again and again, with so many seconds between.
    """

    settings: Settings
    verbose: bool
    sql: str = ""
    once: Settings | None = None
    message: str = ""
    leave: bool = False
    file: str | None = None
    output: str | None = None
    edit: bool = False
    watch: float | None = None


@dataclass(frozen=True)
class Command:
    """A command: how it is written, what it does, and the function from its argument to a change."""

    name: str
    argument: str
    help: str
    run: Callable[[Change, str, Catalog], Change]


def command(line: str, settings: Settings, verbose: bool, catalog: Catalog) -> Change:
    """Read a backslash command; `catalog` gives what `\\d` lists."""
    same = Change(settings, verbose)
    name, _, argument = line.rstrip("; \t\n").partition(" ")
    found = next((known for known in COMMANDS if known.name == name), None)
    if found is None:
        return replace(same, message=f"there is no command {name}; \\? lists them")
    return found.run(same, argument.strip(), catalog)


def _help(same: Change, argument: str, catalog: Catalog) -> Change:
    written = [(f"{known.name} {known.argument}".rstrip(), known.help) for known in COMMANDS]
    width = max(len(form) for form, _ in written)
    lines = [f"  {form.ljust(width)}  {does}" for form, does in written]
    return replace(same, message="\n".join(["SQL statements end with ; and may have several lines.", *lines, KEYS]))


def _leave(same: Change, argument: str, catalog: Catalog) -> Change:
    return replace(same, leave=True)


def _describe(same: Change, argument: str, catalog: Catalog) -> Change:
    if argument:
        return replace(same, sql=f"DESCRIBE {argument}")
    kinds = dict.fromkeys(map(_kind, catalog()))
    return replace(same, sql="; ".join(f"SHOW {kind}" for kind in kinds), message="" if kinds else NOTHING)


def _kind(relation: Relation) -> str:
    if isinstance(relation, View):
        return "VIEWS"
    return "STREAMS" if relation.streaming else "TABLES"


def _format(same: Change, argument: str, catalog: Catalog) -> Change:
    if not argument:
        return replace(same, message=f"format is {same.settings.format}")
    if argument not in FORMATS:
        return replace(same, message=f"there is no format {argument}; formats: {', '.join(FORMATS)}")
    return replace(same, settings=replace(same.settings, format=argument), message=f"format is {argument}")


def _vertical(same: Change, argument: str, catalog: Catalog) -> Change:
    if argument and argument not in _SWITCH:
        return replace(same, message="\\x takes on or off")
    vertical = _SWITCH[argument] if argument else same.settings.format != "vertical"
    return _format(same, "vertical" if vertical else "table", catalog)


def _include(same: Change, argument: str, catalog: Catalog) -> Change:
    try:
        return replace(same, sql=Path(argument).expanduser().read_text("utf-8-sig"), file=argument)
    except (OSError, UnicodeDecodeError) as error:
        return replace(same, message=f"cannot read {argument}: {getattr(error, 'strerror', None) or error}")


def _output(same: Change, argument: str, catalog: Catalog) -> Change:
    said = f"rows go to {argument}" if argument else "rows go to the screen"
    return replace(same, output=argument, message=said)


def _edit(same: Change, argument: str, catalog: Catalog) -> Change:
    return replace(same, edit=True)


def _watch(same: Change, argument: str, catalog: Catalog) -> Change:
    if argument and not argument.replace(".", "", 1).isdecimal():
        return replace(same, message="\\watch takes a number of seconds")
    return replace(same, watch=float(argument or 2))


def _statement(same: Change, argument: str, catalog: Catalog) -> Change:
    return replace(same, message=statement_help(argument))


def _max_rows(same: Change, argument: str, catalog: Catalog) -> Change:
    settings = same.settings
    if argument:
        if argument != "all" and not argument.isdecimal():
            return replace(same, message="\\maxrows takes a number of rows, or all")
        settings = replace(settings, max_rows=None if argument == "all" else int(argument))
    most = "all rows" if settings.max_rows is None else f"at most {settings.max_rows} rows"
    return replace(same, settings=settings, message=f"a bounded result shows {most}")


def _drain(same: Change, argument: str, catalog: Catalog) -> Change:
    if argument and argument not in _SWITCH:
        return replace(same, sql=argument, once=replace(same.settings, drain=True))
    settings = replace(same.settings, drain=_SWITCH[argument] if argument else not same.settings.drain)
    does = "ends once its input is processed and decided" if settings.drain else "goes on until it is stopped"
    return replace(same, settings=settings, message=f"a SELECT over a stream {does}")


def _timeout(same: Change, argument: str, catalog: Catalog) -> Change:
    settings = same.settings
    if argument:
        if argument != "off" and not argument.replace(".", "", 1).isdecimal():
            return replace(same, message="\\timeout takes a number of seconds, or off")
        settings = replace(settings, timeout=None if argument == "off" else float(argument))
    ends = "never ends by time" if settings.timeout is None else f"ends after {settings.timeout:g} s"
    return replace(same, settings=settings, message=f"a SELECT over a stream {ends}")


def _timing(same: Change, argument: str, catalog: Catalog) -> Change:
    if argument and argument not in _SWITCH:
        return replace(same, message="\\timing takes on or off")
    footer = _SWITCH[argument] if argument else not same.settings.footer
    said = f"numbers of rows and times are {'shown' if footer else 'not shown'}"
    return replace(same, settings=replace(same.settings, footer=footer), message=said)


def _verbose(same: Change, argument: str, catalog: Catalog) -> Change:
    return replace(same, verbose=not same.verbose, message=f"details of errors are {'off' if same.verbose else 'on'}")


COMMANDS = (
    Command("\\d", "[NAME]", "list streams, tables and views, or describe one", _describe),
    Command("\\drain", "[on|off|SELECT ...]", "end streams, or this one, when their input is decided", _drain),
    Command("\\e", "", "edit the last statement in $EDITOR", _edit),
    Command("\\errverbose", "", "show technical details of errors, or no longer", _verbose),
    Command("\\format", "[NAME]", f"write rows as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}", _format),
    Command("\\h", "[STATEMENT]", "the form of a statement, with an example", _statement),
    Command("\\i", "FILE", "execute a file", _include),
    Command("\\maxrows", "[N|all]", "how many rows of a bounded result are shown", _max_rows),
    Command("\\o", "[FILE]", "write rows to a file, or to the screen again", _output),
    Command("\\timeout", "[SECONDS|off]", "end streams after so long", _timeout),
    Command("\\timing", "[on|off]", "show numbers of rows and times, or not", _timing),
    Command("\\watch", "[SECONDS]", "execute the last statement again and again", _watch),
    Command("\\x", "[on|off]", "write a line for each column, or a table again; also \\G in place of ;", _vertical),
    Command("\\?", "", "this help", _help),
    Command("\\q", "", "leave (also exit, quit, Ctrl-D)", _leave),
)
