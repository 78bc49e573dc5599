"""Execution of the statements of a network user: those that the role allows, within limits on rows and reads."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepsql.catalog import MaterializedView
from cepsql.engine import Engine
from cepsql.engine.lookups import PreparedLookup
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError, Span, in_text, suggestion
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.text_values import compared_values
from cepsql.frontends.server.wire.users import OWNER, User
from cepsql.language import statements as st
from cepsql.language.tokens import QUOTED
from cepsql.query import Query
from cepsql.render.answer import Answer
from cepsql.standing.subscription import Subscription

_QUESTIONS = (st.Show, st.ShowCreate, st.ShowHistory, st.Describe, st.DescribeQuery, st.Explain)
_HARMLESS = (*_QUESTIONS, st.WaitFor)
"""Statements without an effect."""

_READING = (st.ParsedQuery, st.Print, st.ExecutePrepared)
_KEPT_STATEMENTS, _KEPT_LENGTH = 100, 10_000
"""How many statements of a connection stay parsed, and up to how many characters each."""

_SKIPPED = re.compile(rf"{QUOTED.pattern}|\$[0-9]+", re.DOTALL)
"""Parameters, and texts in which a dollar does not start one."""

_BY_SPARK = ("physical", "all")
"""Parts of EXPLAIN for which Spark plans the query."""


class Refused(ProgrammingError):
    """The role of a user does not allow a statement."""


class TooMuch(NotSupportedError):
    """An answer is larger than the server allows, or too many reads run at once."""


@dataclass(frozen=True)
class Result:
    """The result of a statement: columns with Spark types and rows, or a message."""

    columns: tuple[tuple[str, str], ...] | None
    rows: Sequence[tuple] = ()
    message: str = ""


@dataclass(frozen=True)
class _Parsed:
    """A statement of a connection, and its lookup."""

    statement: st.Statement
    lookup: PreparedLookup


class Answering:
    """Executes the statements of one user in an engine that all users share."""

    _changing = threading.Lock()

    def __init__(self, engine: Engine, user: User, limits: Limits):
        self._engine, self._user, self._limits = engine, user, limits
        self._statements: dict[str, _Parsed] = {}

    def columns(self, sql: str, parameters: Sequence[object]) -> tuple[tuple[str, str], ...] | None:
        """Return the columns of the result of a statement, None for one without rows; nothing is executed.

        parameters: values of the types of the later parameters.
        Raises Error as `result` does.
        """
        parsed = self._parsed(sql)
        if (looked := parsed.lookup.with_values(_values(parameters))) is not None:
            return looked.columns
        statement = parsed.statement
        if isinstance(statement, _READING):
            return tuple(self._query(statement, sql, parameters).columns)
        self._check_allowed(statement)
        asks = isinstance(statement, _QUESTIONS)
        return self._answer_result(self._executed(statement, sql, parameters)).columns if asks else None

    def result(self, sql: str, parameters: Sequence[object]) -> Result:
        """Execute a statement.

        Raises Refused if the role does not allow it, TooMuch for an answer that is too large, and Error.
        """
        parsed = self._parsed(sql)
        if (looked := parsed.lookup.with_values(_values(parameters))) is not None:
            rows = looked.rows_at_once()
            return Result(looked.columns, tuples(self._bounded(looked.table())) if rows is None else rows)
        statement = parsed.statement
        if isinstance(statement, _READING):
            return self._rows(self._query(statement, sql, parameters))
        self._check_allowed(statement)
        if isinstance(statement, _HARMLESS):
            return self._answer_result(self._executed(statement, sql, parameters))
        with self._changing:
            return self._answer_result(self._executed(statement, sql, parameters))

    def rows_at_once(self, sql: str, parameters: Sequence[object]) -> list[tuple] | None:
        """Return the rows of a described lookup if that needs no wait, else None; raises Error."""
        parsed = self._statements.get(sql)
        return None if parsed is None else parsed.lookup.rows_at_once(_values(parameters))

    def _parsed(self, sql: str) -> _Parsed:
        # Statements are described before they are executed, and drivers repeat them.
        entry = self._statements.get(sql)
        if entry is None:
            parsed = self._engine.parsed(_named(sql))
            if len(parsed) != 1:
                raise InterfaceError(f"one statement at a time, and these are {len(parsed)}")
            entry = _Parsed(parsed[0], self._engine.prepared_lookup(parsed[0]))
            if len(sql) <= _KEPT_LENGTH:
                self._statements[sql] = entry
            if len(self._statements) > _KEPT_STATEMENTS:
                self._statements.pop(next(iter(self._statements)), None)
        return entry

    def check_owner(self) -> None:
        """Raise Refused for a user who may only read."""
        if self._user.role != OWNER:
            raise Refused(
                f"user {self._user.name} may read views, and change nothing",
                hint="the role owner may: see docs/views.md",
            )

    def _check_allowed(self, statement: st.Statement) -> None:
        """Refuse a statement that the role of the user does not allow."""
        reads = isinstance(statement, _HARMLESS) and getattr(statement, "part", None) not in _BY_SPARK
        if not reads:
            self.check_owner()

    def _query(self, statement: st.Statement, sql: str, parameters: Sequence[object]) -> Query:
        query = self._engine.executed(statement, _named(sql), _values(parameters))
        if not isinstance(query, Query):
            raise NotSupportedError("this statement is not supported over the network")
        return self._checked(query)

    def _checked(self, query: Query) -> Query:
        """Return a query; refuse one that the user may not ask."""
        if query.streaming:
            raise NotSupportedError(
                "a query over a stream has no end, and is not answered here",
                hint="CREATE MATERIALIZED VIEW name AS ... keeps its rows; SELECT * FROM name reads them",
            )
        if query.reading is None and self._user.role != OWNER:
            raise self._needs_spark(query.spark_reason or "it reads more than materialized views")
        return query

    def _needs_spark(self, reason: str) -> Refused:
        said = f"only Spark can answer this, which user {self._user.name} may not ask: {reason}"
        return Refused(said, hint="the role owner may: see docs/views.md")

    def table(self, sql: str, parameters: Sequence[object]) -> pa.Table:
        """Return the rows of a query; raises Error as `result` does."""
        parsed = self._parsed(sql)
        statement = parsed.statement
        if not isinstance(statement, st.ParsedQuery | st.ExecutePrepared):
            raise NotSupportedError("only queries are answered so", hint="SELECT ... FROM a materialized view")
        if (looked := parsed.lookup.with_values(_values(parameters))) is not None:
            return self._bounded(looked.table())
        return self._table(self._query(statement, sql, parameters))

    def subscription(self, sql: str) -> Subscription:
        """Return the subscription of a SUBSCRIBE; raises Refused for a query if the user is not an owner, and Error."""
        statement = self._engine.parsed(sql)
        if len(statement) == 1 and isinstance(statement[0], st.Subscribe):
            names, name = self._engine.catalog.names, statement[0].name.text
            if names.query(name) is not None and not isinstance(names.find(name), MaterializedView):
                self.check_owner()
        subscription = self._engine.subscription(sql)
        if subscription is None:
            raise InterfaceError("this is no SUBSCRIBE")
        return subscription

    def called(self, name: str, arguments: Mapping[str, str]) -> pa.Table:
        """Return the rows of a prepared query.

        arguments: the values of its parameters as text; one that is compared with a column gets the type of the column.
        Raises Error as `result` does.
        """
        prepared = self._engine.prepared(st.Name(name, Span(0, 0)))
        with in_text(prepared.sql):
            statement = self._parsed(prepared.sql).statement
            if not isinstance(statement, st.ParsedQuery):
                raise NotSupportedError(f"{name} writes rows, and only queries are called")
            names = {parameter.text for parameter in statement.parameters}
            for wrong in arguments.keys() - names:
                hint = suggestion(wrong, sorted(names), "parameters")
                raise InterfaceError(f"{name} has no parameter {wrong}", hint=hint)
            values = compared_values(statement, arguments, self._engine.catalog.names.materialized)
        query = self._engine.executed(statement, prepared.sql, values)
        assert isinstance(query, Query)
        return self._table(self._checked(query))

    def _rows(self, query: Query) -> Result:
        return Result(tuple(query.columns), tuples(self._table(query)))

    def _table(self, query: Query) -> pa.Table:
        most = self._limits.rows
        if self._user.role == OWNER:
            rows = pa.concat_tables(query.pieces(most + 1))
        elif (answered := query.without_spark()) is None:
            raise self._needs_spark("of these values")
        else:
            rows = answered
        return self._bounded(rows)

    def _bounded(self, rows: pa.Table) -> pa.Table:
        most = self._limits.rows
        if rows.num_rows > most:
            raise TooMuch(f"the answer has more than {most} rows", hint="add WHERE or LIMIT, or read it in parts")
        return rows

    def _executed(self, statement: st.Statement, sql: str, parameters: Sequence[object]) -> Answer:
        answer = self._engine.executed(statement, _named(sql), _values(parameters))
        if isinstance(answer, Query):
            raise NotSupportedError("this statement is not supported over the network")
        return answer

    def _answer_result(self, answer: Answer) -> Result:
        if answer.text:
            return Result((("text", "string"),), [(answer.text,)])
        if not answer.columns:
            return Result(None, (), answer.message)
        rows = [tuple(None if cell is None else str(cell) for cell in row) for row in answer.rows]
        return Result(tuple((name, "string") for name in answer.columns), rows, answer.message)


def _values(parameters: Sequence[object]) -> Mapping[str, object]:
    return {f"p{number}": value for number, value in enumerate(parameters, 1)}


def _named(sql: str) -> str:
    """Return a statement with the parameters $1, $2 as :p1, :p2; those in texts and comments stay.

    >>> _named("SELECT '$1' FROM v WHERE a = $1 -- $2")
    "SELECT '$1' FROM v WHERE a = :p1 -- $2"
    """
    return _SKIPPED.sub(lambda match: f":p{match[0][1:]}" if match[0][0] == "$" else match[0], sql)


def parameter_count(sql: str) -> int:
    """Return the greatest number of a parameter in a statement, 0 without parameters."""
    parameters = (part for part in _SKIPPED.findall(sql) if part[0] == "$")
    return max((int(part[1:]) for part in parameters), default=0)


def tuples(rows: pa.Table) -> list[tuple]:
    """Return rows as Python values; times with a zone are in UTC, far times are text."""
    from cepsql.render.far_times import for_python

    columns = []
    for column in for_python(rows).columns:
        if getattr(column.type, "tz", None):
            column = column.cast(pa.timestamp("us", "UTC"))
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows
