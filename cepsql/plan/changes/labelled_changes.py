"""A whole query whose rows are changes, under the names and with the operations that the user sees."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.sql.plain_sql import relation
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.language.notes import copied
from cepsql.plan.tree.nodes import LabelledChanges, Sql

_RESULT = "__result"


def numbered(items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the items of a SELECT under the names __0, __1, ...: those in a result may be equal."""
    return [exp.alias_(copied(item.unalias()), f"__{i}", copy=False) for i, item in enumerate(items)]


def hidden_columns(columns: Sequence[exp.Expr], kind: exp.Expr) -> list[exp.Expr]:
    """Return IDENTITY and CHANGE of rows that columns tell from one another; `kind` is the number of a `Change`."""
    struct = exp.func("struct", *map(copied, columns), copy=False)
    identity = exp.func("to_json", struct, copy=False) if columns else exp.Literal.string("")
    change = exp.cast(kind, exp.DType.TINYINT, dialect="spark")
    return [exp.alias_(identity, IDENTITY, copy=False), exp.alias_(change, CHANGE, copy=False)]


def labelled_query(rows: Sql, names: Sequence[str], around: Mapping[str, exp.Expr | None]) -> Sql:
    """Return a query that gives changes with OPERATION as its last column.

    rows:   the changes, `numbered`, with IDENTITY and CHANGE.
    names:  of the columns.
    around: clauses of the SELECT, such as its LIMIT.
    """
    numbers = [exp.column(f"__{i}", table=_RESULT) for i in range(len(names))]
    columns = [exp.alias_(one, name, quoted=True, copy=False) for one, name in zip(numbers, names, strict=True)]
    outer = exp.select(*columns, exp.column(OPERATION, table=_RESULT)).from_(relation(_RESULT), copy=False)
    for part, clause in around.items():
        outer.set(part, clause)
    return Sql(outer, {_RESULT: LabelledChanges(_RESULT, rows)})
