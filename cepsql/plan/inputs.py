"""The inputs of operators: their rows as a reader needs them, by the passes of a query."""

from collections.abc import Hashable

from cepsql.errors import Error, answer, granted
from cepsql.language.statements import ParsedQuery
from cepsql.plan.passes import PASSES, Asked, Draft, QueryNames, run_passes
from cepsql.plan.tree.nodes import Sql
from cepsql.plan.tree.reader import Reader, RowsAsTheyCome, RowsInOrder


class Inputs:
    """Gives inputs, as `cepsql.plan.tree.reader.Checked` says; what is asked again is answered from memory."""

    def __init__(self, names: QueryNames):
        self._names = names
        self._answers: dict[Hashable, tuple[Sql, Sql | Error]] = {}

    def __call__(self, reader: Reader, rows: Sql, spoken: str) -> Sql:
        """Return the input, in which what remembers rows is an operator of its own.

        Raises NotSupportedError and ProgrammingError for rows that cannot be read so.
        """
        return granted(self.answer(reader, rows, spoken))

    def answer(self, reader: Reader, rows: Sql, spoken: str) -> Sql | Error:
        """Return the input, or why there is none."""
        if not isinstance(reader, RowsInOrder | RowsAsTheyCome):
            return self._asked(reader, rows, spoken)
        nodes = tuple((name, id(node)) for name, node in rows.inputs.items())
        key = type(reader), reader.order_by, reader.span, spoken, rows.query, nodes, rows.view, id(rows.windows)
        if key not in self._answers:
            # The question is kept with the answer, so that no other node gets the identity of one of its nodes.
            self._answers[key] = rows, self._asked(reader, rows, spoken)
        return self._answers[key][1]

    def _asked(self, reader: Reader, rows: Sql, spoken: str) -> Sql | Error:
        draft = Draft(ParsedQuery(rows.query, (), "", reader.span), rows=rows)
        asked = Asked(reader, spoken, self, self._names)
        return answer(lambda: run_passes(PASSES, draft, asked).graph)
