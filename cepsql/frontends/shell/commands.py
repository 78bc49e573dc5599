"""The shell's own commands, which begin with a backslash."""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cepsql.base.output_formats import FORMATS
from cepsql.catalog import Relation, View
from cepsql.catalog.catalog import Catalog as Definitions
from cepsql.errors import InterfaceError
from cepsql.frontends.runner.pager import command_words, pager_command
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.shell.statement_help import statement_help

KEYS = """\
Enter runs a finished statement, Alt-Enter an unfinished one.
Ctrl-C stops a SELECT or clears the line; Ctrl-D leaves.
Tab completes, Ctrl-R searches the history, F1 shows this help.
The right arrow takes the grey suggestion."""

NOTHING = "no stream, table or view is defined"
NO_QUERIES = "no standing query is defined; \\h CREATE QUERY shows how"

Catalog = Callable[[], Definitions]
"""Returns the definitions; called only if needed, because it waits for the engine."""

_TAILED = 10
"""How many earlier rows of a query \\tail shows."""

_SWITCH = {"on": True, "off": False}

_BEGINNINGS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "PRINT", "(", "--", "/*")
"""The beginnings of statements with rows, and of comments before them."""


_LISTS = "\\d lists streams, tables and views, \\dq queries, SHOW SINKS sinks"
_NOT_SET = "cepsql -v NAME=VALUE binds :NAME; SET changes what statements run with"
_PLACES = "cepsql --catalog LOCATION opens another catalog"
_FORMS = "\\format NAME chooses how rows are written"
_ELSEWHERE = {
    **dict.fromkeys(("\\dt", "\\dt+", "\\dv", "\\dv+", "\\dm", "\\di", "\\ds", "\\dn", "\\describe"), _LISTS),
    **dict.fromkeys(("\\l", "\\list", "\\c", "\\connect", "\\conninfo"), _PLACES),
    **dict.fromkeys(("\\set", "\\unset", "\\gset", "\\setenv", "\\bind"), _NOT_SET),
    **dict.fromkeys(("\\a", "\\t", "\\f", "\\H", "\\C", "\\T", "\\pset"), _FORMS),
    "\\copy": "INSERT INTO sink SELECT ... writes rows, \\o FILE those of what follows; CREATE TABLE reads a file",
    "\\g": "a statement ends with ;",
    "\\gx": "\\G in place of ; writes a line for each column",
    "\\ir": "\\i FILE executes a file",
    "\\include": "\\i FILE executes a file",
    "\\quit": "\\q leaves",
    "\\exit": "\\q leaves",
    "\\help": "\\? lists commands, \\h SELECT shows the form of a statement",
    "\\p": "the up arrow brings the last statement back, \\e edits it",
    "\\s": "Ctrl-R searches the history",
    "\\r": "Ctrl-C clears what is typed",
    "\\!": "Ctrl-Z suspends the shell, fg continues",
    "\\sf": "\\df NAME describes a function",
    "\\sv": "SHOW CREATE VIEW name shows how it is defined",
}
"""Commands of other shells, and their counterparts here."""


@dataclass(frozen=True)
class CommandRequest:
    """The request of a command: new settings, SQL to execute, a message, or to leave.

    once:   settings for `sql` alone, None for the current ones.
    file:   the file of `sql`, None if it was typed.
    output: the file that rows go to from now on, "" for the screen.
    edit:   open the editor with the last statement.
    watch:  execute the last statement again and again, with this many seconds between.
    times:  how often at most, None for no limit.
    top:    show the state of the queries, refreshing.
    details: show all details of the last error.
    tail:    follow the query with this name, after this many of its last rows.
    plot:    draw two columns of the last statement, x and y, into a file; "" for the screen.
    """

    settings: UserChoices
    verbose: bool
    sql: str = ""
    once: UserChoices | None = None
    message: str = ""
    leave: bool = False
    file: str | None = None
    output: str | None = None
    edit: bool = False
    watch: float | None = None
    times: int | None = None
    top: bool = False
    details: bool = False
    plot: tuple[str, str, str] | None = None
    tail: tuple[str, int] | None = None


@dataclass(frozen=True)
class Command:
    """A command: its name and argument, its help, and the function that returns its request."""

    name: str
    argument: str
    help: str
    run: Callable[[CommandRequest, str, Catalog], CommandRequest]


def command(line: str, settings: UserChoices, verbose: bool, catalog: Catalog) -> CommandRequest:
    """Return the request of a backslash command; `catalog` returns the definitions that `\\d` lists."""
    same = CommandRequest(settings, verbose)
    name, _, argument = line.rstrip("; \t\n").partition(" ")
    wanted = next((one for one in COMMANDS if one.name == name), None)
    if wanted is None:
        raise InterfaceError(f"there is no command {name}; \\? lists them", hint=_meant(name))
    return wanted.run(same, argument.strip(), catalog)


def _meant(name: str) -> str | None:
    """Return a hint for an unknown command, or None."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    near = difflib.get_close_matches(name, [one.name for one in COMMANDS], 1)
    return f"did you mean {near[0]}?" if near else None


def help_text() -> str:
    """Return the text of `\\?`."""
    written = [(f"{one.name} {one.argument}".rstrip(), one.help) for one in COMMANDS]
    width = max(len(form) for form, _ in written)
    lines = [f"  {form.ljust(width)}  {does}" for form, does in written]
    return "\n".join(["SQL statements end with ; and may have several lines.", *lines, KEYS])


def statement_in(line: str) -> str | None:
    """Return the statement in the argument of a command, None without one.

    >>> statement_in("\\\\drain SELECT 1;"), statement_in("\\\\drain on")
    ('SELECT 1;', None)
    """
    name, _, argument = line.strip().partition(" ")
    statement = argument.strip()
    return statement if name == "\\drain" and _begins_query(statement) else None


def _begins_query(text: str) -> bool:
    """Tell whether the argument of a command is the beginning of a statement with rows."""
    first = re.match(r"\(|--|/\*|\w+", text)
    return first is not None and first[0].upper() in _BEGINNINGS


def _help(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, message=help_text())


def _leave(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, leave=True)


def _extended(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, sql=f"DESCRIBE EXTENDED {argument}") if argument else _describe(same, "", catalog)


def _functions(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    quoted = argument.replace("'", "''")
    return replace(same, sql=f"SHOW FUNCTIONS LIKE '{quoted}'" if argument else "SHOW FUNCTIONS")


def _queries(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return _about_queries(same, "QUERY", "QUERIES", argument, catalog)


def _all_queries(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return _about_queries(same, "EXTENDED QUERY", "EXTENDED QUERIES", argument, catalog)


def _about_queries(same: CommandRequest, one: str, several: str, name: str, catalog: Catalog) -> CommandRequest:
    if name:
        return replace(same, sql=f"DESCRIBE {one} {name}")
    return replace(same, sql=f"SHOW {several}") if catalog().names.queries else replace(same, message=NO_QUERIES)


def _top(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, top=True)


def _tail(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    name, _, rows = argument.partition(" ")
    if not name or (rows and not rows.strip().isdecimal()):
        raise InterfaceError("\\tail takes the name of a query, and of how many last rows; \\dq lists queries")
    return replace(same, tail=(name.strip("`"), int(rows or _TAILED)))


def _live(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if not argument:
        refreshing = f"by {', '.join(same.settings.live)}" if same.settings.live else "off: its rows scroll by"
        return replace(same, message=f"a stream's table refreshes {refreshing}")
    keys = () if argument == "off" else tuple(key.strip() for key in argument.split(",") if key.strip())
    does = f"shows the last row of each {', '.join(keys)}, in place" if keys else "shows all rows, one after another"
    return replace(same, settings=replace(same.settings, live=keys), message=f"a SELECT over a stream {does}")


def _pager(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    settings = same.settings
    if argument:
        named = {"off": [], "on": pager_command() or ["less"]}.get(argument)
        settings = replace(settings, pager=tuple(command_words(argument) if named is None else named))
    said = f"go to {' '.join(settings.pager)}" if settings.pager else "are written to the screen"
    return replace(same, settings=settings, message=f"bounded results that do not fit the screen {said}")


def _describe(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if argument:
        return replace(same, sql=f"DESCRIBE {argument}")
    kinds = dict.fromkeys(map(_kind, catalog()))
    return replace(same, sql="; ".join(f"SHOW {kind}" for kind in kinds), message="" if kinds else NOTHING)


def _kind(relation: Relation) -> str:
    if isinstance(relation, View):
        return "VIEWS"
    return "STREAMS" if relation.streaming else "TABLES"


def _format(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if not argument:
        return replace(same, message=f"format is {same.settings.format}")
    if argument not in FORMATS:
        raise InterfaceError(f"there is no format {argument}; formats: {', '.join(FORMATS)}")
    return replace(same, settings=replace(same.settings, format=argument), message=f"format is {argument}")


def _vertical(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if argument and argument not in _SWITCH:
        raise InterfaceError("\\x takes on or off")
    vertical = _SWITCH[argument] if argument else same.settings.format != "vertical"
    return _format(same, "vertical" if vertical else "table", catalog)


def _include(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if not argument:
        raise InterfaceError("\\i takes the name of a file")
    try:
        file = _unquoted(argument)
        return replace(same, sql=Path(file).expanduser().read_text("utf-8-sig"), file=file)
    except (OSError, ValueError, RuntimeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        raise InterfaceError(f"cannot read {argument}: {why}") from error


def _output(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    file = _unquoted(argument)
    return replace(same, output=file, message=f"rows go to {file}" if file else "rows go to the screen")


def _unquoted(argument: str) -> str:
    """Return the name of a file, which may be quoted."""
    quoted = re.fullmatch(r"""(['"])(.+)\1""", argument)
    return quoted[2] if quoted else argument


def _edit(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, edit=True)


def _plot(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    x, y, file, *_ = [*argument.split(maxsplit=2), "", "", ""]
    if not y:
        raise InterfaceError(
            "\\plot takes the columns x and y of the last SELECT, and the name of a file for a picture"
        )
    return replace(same, plot=(x.rstrip(","), y, _unquoted(file)))


def _watch(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    seconds, _, times = argument.partition(" ")
    if (seconds and not seconds.replace(".", "", 1).isdecimal()) or (times and not times.strip().isdecimal()):
        raise InterfaceError("\\watch takes a number of seconds, and how often")
    return replace(same, watch=float(seconds or 2), times=int(times) if times else None)


def _statement(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    return replace(same, message=statement_help(argument))


def _max_rows(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    settings = same.settings
    if argument:
        if argument != "all" and not argument.isdecimal():
            raise InterfaceError("\\maxrows takes a number of rows, or all")
        settings = replace(settings, max_rows=None if argument == "all" else int(argument))
    most = "all rows" if settings.max_rows is None else f"at most {settings.max_rows} rows"
    return replace(same, settings=settings, message=f"a bounded result shows {most}")


def _drain(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if _begins_query(argument):
        return replace(same, sql=argument, once=replace(same.settings, drain=True))
    if argument and argument not in _SWITCH:
        raise InterfaceError("\\drain takes on or off, or a SELECT that ends once its input is decided")
    settings = replace(same.settings, drain=_SWITCH[argument] if argument else not same.settings.drain)
    does = "ends once its input is processed and decided" if settings.drain else "runs until it is stopped"
    return replace(same, settings=settings, message=f"a SELECT over a stream {does}")


def _timeout(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    settings = same.settings
    if argument:
        if argument != "off" and not argument.replace(".", "", 1).isdecimal():
            raise InterfaceError("\\timeout takes a number of seconds, or off")
        settings = replace(settings, timeout=None if argument == "off" else float(argument))
    ends = "never ends by time" if settings.timeout is None else f"ends after {settings.timeout:g} s"
    return replace(same, settings=settings, message=f"a SELECT over a stream {ends}")


def _timing(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if argument and argument not in _SWITCH:
        raise InterfaceError("\\timing takes on or off")
    footer = _SWITCH[argument] if argument else not same.settings.footer
    said = f"numbers of rows and times are {'shown' if footer else 'not shown'}"
    return replace(same, settings=replace(same.settings, footer=footer), message=said)


def _verbose(same: CommandRequest, argument: str, catalog: Catalog) -> CommandRequest:
    if argument and argument not in _SWITCH:
        raise InterfaceError("\\errverbose takes on or off, or nothing for the last error")
    if not argument:
        return replace(same, details=True)
    verbose = _SWITCH[argument]
    return replace(same, verbose=verbose, message=f"details of errors are {'on' if verbose else 'off'}")


COMMANDS = (
    Command("\\d", "[NAME]", "list streams, tables and views, or describe one", _describe),
    Command("\\d+", "NAME", "describe one with options, watermark, late rows", _extended),
    Command("\\df", "[PATTERN]", "list functions, such as \\df date*", _functions),
    Command("\\dq", "[NAME]", "list standing queries, or describe one", _queries),
    Command("\\dq+", "[NAME]", "the same with all details", _all_queries),
    Command("\\drain", "[on|off|SELECT ...]", "end streams, or this one, when all is decided", _drain),
    Command("\\e", "", "edit the last statement in $EDITOR", _edit),
    Command("\\errverbose", "[on|off]", "details of the last error, or of each from now on", _verbose),
    Command("\\format", "[NAME]", f"rows as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}", _format),
    Command("\\h", "[STATEMENT]", "the form of a statement, with an example", _statement),
    Command("\\i", "FILE", "execute a file of statements and commands", _include),
    Command("\\live", "[COLUMN, ...|off]", "show a stream as a table, one row of each key", _live),
    Command("\\maxrows", "[N|all]", "how many rows of a bounded result are shown", _max_rows),
    Command("\\o", "[FILE]", "write rows to a file, or to the screen again", _output),
    Command("\\pager", "[on|off|PROGRAM]", "page through results that do not fit the screen", _pager),
    Command("\\plot", "X Y [FILE]", "draw the last result, here or as a picture", _plot),
    Command("\\tail", "QUERY [N]", "its last rows, then new ones until Ctrl-C", _tail),
    Command("\\timeout", "[SECONDS|off]", "end streams after this time", _timeout),
    Command("\\timing", "[on|off]", "show numbers of rows and times, or not", _timing),
    Command("\\top", "", "watch standing queries in a table that refreshes", _top),
    Command("\\watch", "[SECONDS [TIMES]]", "execute the last statement again and again", _watch),
    Command("\\x", "[on|off]", "a line for each column, or a table again; also \\G", _vertical),
    Command("\\?", "", "this help", _help),
    Command("\\q", "", "leave (also exit, quit, Ctrl-D)", _leave),
)
