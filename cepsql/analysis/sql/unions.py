"""The branches of UNION, INTERSECT and EXCEPT: they have as many columns as each other, which meet by their place."""

from sqlglot import exp

from cepsql.analysis.sql.function_calls import gives_rows
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.tree_nodes import TreeNodes


def check_branches(query: TreeNodes) -> None:
    """Refuse branches of a qualified query that have not as many columns as each other, as far as these are known.

    Raises ProgrammingError for them, NotSupportedError for columns that are to meet by name.
    """
    for operation in query.of(exp.SetOperation):
        if operation.args.get("by_name"):
            raise NotSupportedError(
                f"{operation.key.upper()} BY NAME is not supported",
                span_of(operation.right, span_of(operation)),
                "columns meet by their place: name those of both sides in the same order",
            )
        left, right = _width(operation.left), _width(operation.right)
        if left is None or right is None or left == right:
            continue
        raise ProgrammingError(
            f"{operation.key.upper()} has {_columns(left)} on the left and {_columns(right)} on the right",
            span_of(operation.right, span_of(operation)),
            "both sides need as many columns as each other",
        )


def _width(branch: exp.Expr) -> int | None:
    """Return the number of columns of a branch, None if it is not known."""
    whole = branch.unnest()
    while isinstance(whole, exp.SetOperation):
        whole = whole.left.unnest()
    if not isinstance(whole, exp.Select):
        return None
    return None if any(map(_may_be_several, whole.selects)) else len(whole.selects)


def _may_be_several(item: exp.Expr) -> bool:
    value = item.unalias()
    return item.is_star or isinstance(value, exp.Aliases | exp.UDTF) or gives_rows(value)


def _columns(number: int) -> str:
    return "1 column" if number == 1 else f"{number} columns"
