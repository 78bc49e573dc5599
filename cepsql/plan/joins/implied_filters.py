"""What a condition over several relations says of the rows of one of them, which can be left out before the join."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.sql.guards import may_fail
from cepsql.analysis.sql.plain_sql import conjuncts, split_or
from cepsql.plan.joins.join_condition import only_side


def implied_filters(condition: exp.Expr, alias: str, types: Mapping[str, str]) -> list[exp.Expr]:
    """Return conditions on one relation that all its rows fulfil for which the condition can hold; none for most.

    Each side of an OR must say something of the relation. What may be an error for some values is left out: another
    part of the condition may keep such rows from it.

    alias: of the relation, lower case.
    types: its columns with their types, lower case.

    >>> from cepsql.language.tokens import DIALECT
    >>> asked = DIALECT.parse("SELECT (a.x = 1 AND b.y = 2 AND a.z) OR (b.y = 3 AND a.z AND a.x = 4)")[0].selects[0]
    >>> [part.sql() for part in implied_filters(asked, "a", {"x": "int", "z": "boolean"})]
    ['a.z', 'a.x = 1 OR a.x = 4']
    """
    plain = condition.unnest()
    if not isinstance(plain, exp.Or):
        return []
    sides = [[part for part in conjuncts(side) if _is_asked(part, alias, types)] for side in plain.flatten()]
    shared, rest = split_or(sides)
    return [*shared, *rest]


def _is_asked(part: exp.Expr, alias: str, types: Mapping[str, str]) -> bool:
    def type_of(operand: exp.Expr) -> str:
        match operand.unnest():
            case exp.Column() as column:
                return types.get(column.name.lower(), "unknown")
            case exp.Literal() as literal:
                return "string" if literal.is_string else "double"
        return "unknown"

    return only_side(part, [alias]) is not None and not may_fail(part, type_of)
