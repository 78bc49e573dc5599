"""The magics `%cepsql` and `%%cepsql`."""

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from cepsql.engine import Engine, connect
from cepsql.errors import Error
from cepsql.frontends.notebook.live import LiveView
from cepsql.frontends.notebook.shown import Shown, shown_answer, shown_rows
from cepsql.frontends.runner.counted import counted
from cepsql.query import Query
from cepsql.render.answer import Answer

if TYPE_CHECKING:
    from cepsql.spark.run.standing_query import StandingQuery

_PARAMETER = re.compile(r"(?<!:):([A-Za-z_]\w*)")

USAGE = "%%cepsql [--name NAME] [--limit N] [--drain], then statements; :variable stands for a variable of the notebook"


@dataclass(frozen=True)
class _StartedQuery:
    """A query that a cell has started, with the variable that it is kept in."""

    cell: str | None
    name: str | None
    standing: "StandingQuery"


@magics_class
class CepsqlMagics(Magics):
    """Executes statements in the notebook's variable `engine`, or in a new engine."""

    def __init__(self, shell: InteractiveShell):
        super().__init__(shell)
        self._notebook = shell
        self._made: Engine | None = None
        self._cell: str | None = None
        self._started: list[_StartedQuery] = []
        shell.events.register("pre_run_cell", self._begin)

    @line_cell_magic
    def cepsql(self, line: str, cell: str | None = None):
        """Execute statements and show their results: `%%cepsql [--name NAME] [--limit N] [--drain]`.

        name:  the variable for the last query, or for the standing query that it was started as.
        limit: how many rows are shown, 50 by default.
        drain: a query over a stream ends once the current input is decided.
        A query over a stream is started, and shown until it is stopped, or until it or the notebook ends.
        Raises the Error of the first statement that fails, which the notebook shows without a trace.
        """
        options, text = ({}, line) if cell is None else (_options(line), cell)
        try:
            for item in self._engine().execute(text, _parameters(text, self._notebook.user_ns)):
                self._show(item, options)
        except (Error, KeyboardInterrupt) as error:
            # The place in cepsql that raised it says nothing about the cell.
            said = f"error: {error}" if isinstance(error, Error) else "interrupted"
            error._render_traceback_ = lambda: [said]  # type: ignore[union-attr]
            raise

    def _begin(self, info: ExecutionInfo) -> None:
        """Stop the queries of a cell, whose output is replaced, before it runs again."""
        self._cell = info.cell_id
        if self._cell is not None:
            self._stop(lambda started: started.cell == self._cell)

    def _stop(self, which: "Callable[[_StartedQuery], bool]") -> None:
        for started in filter(which, self._started):
            started.standing.stop()
        self._started = [started for started in self._started if started.standing.status == "running"]

    def _engine(self) -> Engine:
        engine = self._notebook.user_ns.get("engine")
        if isinstance(engine, Engine):
            return engine
        self._made = self._made or connect()
        self._notebook.user_ns.setdefault("engine", self._made)
        return self._made

    def _show(self, item: Query | Answer, options: dict[str, str]) -> None:
        most = int(options.get("limit", 50))
        if isinstance(item, Answer):
            if (answer := shown_answer(item)).text:
                display(answer)
            return
        zone = self._engine().spark.conf.get("spark.sql.session.timeZone") or "UTC"
        result: object = item
        name = options.get("name")
        if item.streaming:
            if name is not None:
                self._stop(lambda started: started.name == name)
            result = standing = self._live(item, most, zone, "drain" in options)
            self._started.append(_StartedQuery(self._cell, name, standing))
        else:
            with_more = next(iter(item.pieces(most + 1)))
            shown = with_more.slice(0, most)
            note = f"the first {counted(most, 'row')}" if with_more.num_rows > most else counted(shown.num_rows, "row")
            display(shown_rows(item.columns, shown, zone, note))
        if name is not None:
            self._notebook.user_ns[name] = result

    def _live(self, query: Query, most: int, zone: str, drain: bool) -> "StandingQuery":
        """Start a query and show it in this cell; return it."""
        # A terminal would write each new state below the one before.
        formatter = self._notebook.display_formatter
        refresh = formatter is not None and "text/html" in formatter.active_types
        handle = display(Shown("", "running; what it gave is shown when it ends"), display_id=True)
        view = LiveView(most, handle.update if refresh else display, zone, refresh)
        standing = query.start(view.add, drain=drain)
        try:
            following = view.follow(standing)
            # Without ipywidgets there is no button; standing.stop() does the same.
            with suppress(ImportError):
                if refresh:
                    _show_button(standing)
            if drain:
                standing.await_()
                following.join()
        except BaseException:
            # No other code could stop the interrupted query.
            standing.stop()
            raise
        return standing


def _parameters(text: str, variables: Mapping[str, object]) -> dict[str, object]:
    """Return the variables that a text names as parameters."""
    return {name: variables[name] for name in _PARAMETER.findall(text) if name in variables}


def _options(line: str) -> dict[str, str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(USAGE) from error
    options = {}
    while words:
        word = words.pop(0)
        if word == "--drain":
            options["drain"] = ""
        elif word in ("--name", "--limit") and words:
            options[word[2:]] = words.pop(0)
        else:
            raise UsageError(USAGE)
    if not options.get("limit", "1").isdecimal() or not options.get("name", "name").isidentifier():
        raise UsageError(USAGE)
    return options


def _show_button(standing: "StandingQuery") -> None:
    from ipywidgets import Button

    def stop(button: Button) -> None:
        button.disabled = True
        standing.stop()

    button = Button(description="Stop")
    button.on_click(stop)
    display(button)
