"""The inputs of operators: their rows as a reader needs them, by the passes of a query."""

from collections.abc import Hashable

from sqlglot import exp

from cepsql.errors import Error, Span, answer, granted
from cepsql.language.statements import ParsedQuery
from cepsql.plan.passes import PASSES, Asked, Draft, QueryNames, run_passes
from cepsql.plan.tree.nodes import Sql
from cepsql.plan.tree.reader import Reader, RowsAsTheyCome, RowsInOrder, is_followed_by

_TIMES = ("timestamp", "date")
"""What the types of event times begin with."""


class Inputs:
    """Gives inputs, as `cepsql.plan.tree.reader.Checked` says; what is asked again is answered from memory."""

    def __init__(self, names: QueryNames):
        self._names = names
        # Questions are kept with answers, so that no other node gets the identity of one of their nodes.
        self._answers: dict[Hashable, tuple[Sql, Sql | Error]] = {}
        self._followed: dict[Hashable, tuple[Sql, Sql | None]] = {}

    def __call__(self, reader: Reader, rows: Sql, reader_name: str) -> Sql:
        """Return the input, in which what remembers rows is an operator of its own.

        Raises NotSupportedError and ProgrammingError for rows that cannot be read so.
        """
        return granted(self.answer(reader, rows, reader_name))

    def answer(self, reader: Reader, rows: Sql, reader_name: str) -> Sql | Error:
        """Return the input, or why there is none."""
        if not isinstance(reader, RowsInOrder | RowsAsTheyCome):
            return self._asked(reader, rows, reader_name)
        key = _question(reader, rows, reader_name)
        if key not in self._answers:
            self._answers[key] = rows, self._asked(reader, rows, reader_name)
        return self._answers[key][1]

    def followed_by(self, column: str, rows: Sql, place: Span, reader_name: str) -> Sql | None:
        """Return rows of a stream followed by a column as their event time, None if they cannot be."""
        order = exp.Ordered(this=exp.column(exp.to_identifier(column, quoted=True), copy=False), nulls_first=True)
        reader = RowsInOrder((order,), place)
        key = _question(reader, rows, reader_name)
        if key not in self._followed:
            asked = self.answer(reader, rows, reader_name) if _may_be_time(column, rows) else None
            followed = asked if isinstance(asked, Sql) and is_followed_by(asked, column) else None
            self._followed[key] = rows, followed
        return self._followed[key][1]

    def _asked(self, reader: Reader, rows: Sql, reader_name: str) -> Sql | Error:
        draft = Draft(ParsedQuery(rows.query, (), "", reader.span), rows=rows)
        asked = Asked(reader, reader_name, self, self._names)
        return answer(lambda: run_passes(PASSES, draft, asked).graph)


def _question(reader: Reader, rows: Sql, reader_name: str) -> Hashable:
    """Return what the input that a reader gets of rows depends on."""
    nodes = tuple((name, id(node)) for name, node in rows.inputs.items())
    return type(reader), reader.order_by, reader.span, reader_name, rows.query, nodes, rows.view, id(rows.windows)


def _may_be_time(column: str, rows: Sql) -> bool:
    """Tell whether a column may be an event time by its type, as far as that is known."""
    resolved = answer(lambda: rows.resolved)
    columns = () if isinstance(resolved, Error) else resolved.columns
    kind = next((one.type.lower() for one in columns if one.name.lower() == column.lower()), "unknown")
    return kind.startswith(_TIMES) or kind == "unknown"
