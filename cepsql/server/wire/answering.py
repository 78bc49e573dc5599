"""Statements of a user of the network: what the role allows, within limits on rows and reads."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepsql.answer import Answer
from cepsql.engine import Engine
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError
from cepsql.language import statements as st
from cepsql.language.tokens import QUOTED
from cepsql.language.translate import statements
from cepsql.query import Query
from cepsql.server.wire.limits import Limits
from cepsql.server.wire.users import OWNER, User

_QUESTIONS = (st.Show, st.ShowCreate, st.ShowHistory, st.Describe, st.DescribeQuery, st.Explain)
_READING = (*_QUESTIONS, st.WaitFor)
"""What changes nothing."""

_SKIPPED = re.compile(rf"{QUOTED.pattern}|\$[0-9]+", re.DOTALL)
"""Parameters, and that in which a dollar begins none."""

_BY_SPARK = ("physical", "all")
"""Parts of EXPLAIN for which Spark plans the query."""


class Refused(ProgrammingError):
    """The role of a user does not allow a statement."""


class TooMuch(NotSupportedError):
    """An answer is larger than the server gives, or too many are asked for at once."""


@dataclass(frozen=True)
class Result:
    """What a statement gives: columns with Spark types and rows, or a message."""

    columns: tuple[tuple[str, str], ...] | None
    rows: Sequence[tuple] = ()
    message: str = ""


class Answering:
    """Executes the statements of one user in an engine that all users share."""

    _changing = threading.Lock()

    def __init__(self, engine: Engine, user: User, limits: Limits):
        self._engine, self._user, self._limits = engine, user, limits

    def columns(self, sql: str, parameters: Sequence[object]) -> tuple[tuple[str, str], ...] | None:
        """Return the columns of what a statement gives, None for one that only acts; nothing is changed.

        parameters: values of the types that the statement will be given.
        Raises Error as `result`.
        """
        statement = self._parsed(sql)
        if isinstance(statement, st.Query | st.Print):
            return tuple(self._query(sql, parameters).columns)
        self._check_allowed(statement)
        return self._told(self._executed(sql, parameters)).columns if isinstance(statement, _QUESTIONS) else None

    def result(self, sql: str, parameters: Sequence[object]) -> Result:
        """Execute a statement.

        Raises Refused where the role does not allow it, TooMuch for an answer that is too large, and Error.
        """
        statement = self._parsed(sql)
        if isinstance(statement, st.Query | st.Print):
            return self._rows(self._query(sql, parameters))
        self._check_allowed(statement)
        if isinstance(statement, _READING):
            return self._told(self._executed(sql, parameters))
        with self._changing:
            return self._told(self._executed(sql, parameters))

    def _parsed(self, sql: str) -> st.Statement:
        parsed = statements(_named(sql))
        if len(parsed) != 1:
            raise InterfaceError(f"one statement at a time, and these are {len(parsed)}")
        return parsed[0]

    def _check_allowed(self, statement: st.Statement) -> None:
        """Refuse what the role of the user does not allow."""
        reads = isinstance(statement, _READING) and getattr(statement, "part", None) not in _BY_SPARK
        if self._user.role != OWNER and not reads:
            raise Refused(
                f"user {self._user.name} may read views, and change nothing",
                hint="the role owner may: see docs/views.md",
            )

    def _query(self, sql: str, parameters: Sequence[object]) -> Query:
        query = self._engine.query(_named(sql), {f"p{number}": value for number, value in enumerate(parameters, 1)})
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
        """Return the rows of a query; errors as of `result`."""
        if not isinstance(self._parsed(sql), st.Query):
            raise NotSupportedError("only queries are answered so", hint="SELECT ... FROM a materialized view")
        return self._table(self._query(sql, parameters))

    def _rows(self, query: Query) -> Result:
        return Result(tuple(query.columns), _tuples(self._table(query)))

    def _table(self, query: Query) -> pa.Table:
        most = self._limits.rows
        if self._user.role == OWNER:
            found = pa.concat_tables(query.pieces(most + 1))
        elif (answered := query.without_spark()) is None:
            raise self._needs_spark("of these values")
        else:
            found = answered
        if found.num_rows > most:
            raise TooMuch(f"the answer has more than {most} rows", hint="add WHERE or LIMIT, or read it in parts")
        return found

    def _executed(self, sql: str, parameters: Sequence[object]) -> Answer:
        values: Mapping[str, object] = {f"p{number}": value for number, value in enumerate(parameters, 1)}
        found = self._engine.sql(_named(sql), values)
        if isinstance(found, Query):
            raise NotSupportedError("this statement is not supported over the network")
        return found

    def _told(self, answer: Answer) -> Result:
        if answer.text:
            return Result((("text", "string"),), [(answer.text,)])
        if not answer.columns:
            return Result(None, (), answer.message)
        rows = [tuple(None if cell is None else str(cell) for cell in row) for row in answer.rows]
        return Result(tuple((name, "string") for name in answer.columns), rows, answer.message)


def _named(sql: str) -> str:
    """Return a statement with the parameters $1, $2 as :p1, :p2; those in texts and comments stay.

    >>> _named("SELECT '$1' FROM v WHERE a = $1 -- $2")
    "SELECT '$1' FROM v WHERE a = :p1 -- $2"
    """
    return _SKIPPED.sub(lambda found: f":p{found[0][1:]}" if found[0][0] == "$" else found[0], sql)


def parameter_count(sql: str) -> int:
    """Return the greatest number of a parameter in a statement, 0 for none."""
    found = (part for part in _SKIPPED.findall(sql) if part[0] == "$")
    return max((int(part[1:]) for part in found), default=0)


def _tuples(rows: pa.Table) -> list[tuple]:
    """Return rows as Python's values; a time with a zone is in UTC, far times are text."""
    from cepsql.render.times import for_python

    columns = []
    for column in for_python(rows).columns:
        if getattr(column.type, "tz", None):
            column = column.cast(pa.timestamp("us", "UTC"))
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows
