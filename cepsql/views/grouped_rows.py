"""GROUP BY over rows in memory, with the aggregates whose result does not depend on the order of the rows."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from cepsql.ordered.plain_columns import one_chunk
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import BIGINT, DOUBLE, FRACTIONS, INTEGERS, Type, decimal, is_decimal
from cepsql.views.relation import Relation, RelationColumn, Rules

_EXACT_FLOAT, _EXACT_LONG = 2.0**53, 2.0**62
_GROUPS = "__groups"


@dataclass(frozen=True)
class Grouped:
    """Groups as rows of keys and aggregates; `read` replaces these expressions with the columns of the rows."""

    relation: Relation
    names_by_expression: tuple[tuple[exp.Expr, str], ...]

    def read(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression over groups as one over their columns; raises Unlike for others."""
        column = next(
            (exp.column(name, table=_GROUPS) for part, name in self.names_by_expression if part == tree), None
        )
        if column is not None:
            return column
        if isinstance(tree, exp.Column | exp.AggFunc | exp.Subquery):
            raise Unlike(tree.sql(dialect="spark"))
        copy = tree.copy()
        for key, value in list(copy.args.items()):
            if isinstance(value, exp.Expr):
                copy.set(key, self.read(value))
            elif isinstance(value, list):
                copy.set(key, [self.read(one) if isinstance(one, exp.Expr) else one for one in value])
        return copy


def grouped(rows: Relation, keys: list[exp.Expr], calls: list[exp.Expr], rules: Rules) -> Grouped:
    """Return the groups of rows by keys, with aggregates; without keys, one group of all rows, even if there are none.

    Raises Unlike for keys and aggregates whose result may differ from Spark's.
    """
    arrays: dict[str, pa.Array] = {}
    types: dict[str, Type] = {}
    names_by_expression: list[tuple[exp.Expr, str]] = []
    for number, key in enumerate(keys):
        name = f"k{number}"
        arrays[name], types[name] = rows.value(key, rules)
        if types[name] in FRACTIONS:
            raise Unlike(f"GROUP BY a {str(types[name]).upper()}")
        names_by_expression.append((key, name))
    asked: list[tuple[str, str]] = []
    results: list[tuple[str, Type]] = []
    for number, call in enumerate(calls):
        name = f"a{number}"
        arrays[name], function, kind = _argument(call, rows, rules)
        asked.append((name, function))
        results.append((function, kind))
        names_by_expression.append((call, name))
    table = pa.table(arrays) if arrays else pa.table({"n": pa.nulls(rows.rows)})
    try:
        aggregated = table.group_by(list(types), use_threads=False).aggregate(asked)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as failure:
        raise Unlike(str(failure).splitlines()[0]) from failure
    columns = [RelationColumn(_GROUPS, name, one_chunk(aggregated[name]), kind) for name, kind in types.items()]
    for (name, function), (_, kind) in zip(asked, results, strict=True):
        values = one_chunk(aggregated[f"{name}_{function}"])
        columns.append(RelationColumn(_GROUPS, name, _result(values, function, kind), kind))
    return Grouped(Relation(tuple(columns), aggregated.num_rows), tuple(names_by_expression))


def _argument(call: exp.Expr, rows: Relation, rules: Rules) -> tuple[pa.Array, str, Type]:
    """Return the argument of an aggregate, Arrow's function, and the type of the result."""
    spelled = call.sql(dialect="spark")
    if any(value for name, value in call.args.items() if name not in ("this", "big_int")):
        raise Unlike(spelled)
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal):
        return pa.repeat(1, rows.rows), "count", BIGINT
    if call.this is None or isinstance(call.this, exp.Distinct | exp.Star):
        raise Unlike(spelled)
    values, kind = rows.value(call.this, rules)
    if isinstance(call, exp.Count):
        return values, "count", BIGINT
    if isinstance(call, exp.Min | exp.Max) and kind not in FRACTIONS and kind.name != "void":
        return values, "min" if isinstance(call, exp.Min) else "max", kind
    if kind in INTEGERS and isinstance(call, exp.Sum | exp.Avg):
        _check_size(values, _EXACT_LONG if isinstance(call, exp.Sum) else _EXACT_FLOAT, spelled)
        averaged = isinstance(call, exp.Avg)
        return values.cast(pa.int64()), "mean" if averaged else "sum", DOUBLE if averaged else BIGINT
    if is_decimal(kind) and isinstance(call, exp.Sum) and kind.precision <= 28:
        return values.cast(pa.decimal128(38, kind.scale)), "sum", decimal(kind.precision + 10, kind.scale)
    raise Unlike(f"{spelled} of a {str(kind).upper()}")


def _check_size(values: pa.Array, most: float, spelled: str) -> None:
    """Refuse numbers whose sum could be rounded or overflow."""
    total = pc.sum(pc.abs(values.cast(pa.float64(), safe=False))).as_py()
    if total is not None and total >= most:
        raise Unlike(f"{spelled} of numbers that large")


def _result(values: pa.Array, function: str, kind: Type) -> pa.Array:
    return values.cast(arrow_type(kind)) if function in ("sum", "mean") else values
