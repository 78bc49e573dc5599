"""Groups that change of which HAVING leaves some out: what a row does depends on which halves of its update pass."""

from sqlglot import exp, parse_one

from cepsql.analysis.emission import OPERATION, OPERATIONS
from cepsql.analysis.properties import CHANGE, IDENTITY
from cepsql.analysis.window_groups import END, START
from cepsql.language.tokens import DIALECT
from cepsql.plan.labelled_changes import labelled_query
from cepsql.plan.nodes import ChangingGroups, Sql, WindowAggregate
from cepsql.plan.rows_below import AROUND


def with_whole_updates(root: Sql) -> Sql:
    """Return a query in which an update of a group that comes to pass a condition is an insertion, and one of a group
    that passes it no more a deletion.

    root: a SELECT over one operator with groups that change, whose OPERATION is its last column.
    """
    select = root.query
    assert isinstance(select, exp.Select)
    if select.args.get("where") is None:
        return root
    name = select.args["from_"].this.name
    *items, _ = select.expressions
    inner, names = select.copy(), [item.alias_or_name for item in items]
    around = {part: inner.args.pop(part) for part in AROUND if inner.args.get(part) is not None}
    numbered = [exp.alias_(item.unalias().copy(), f"__{i}") for i, item in enumerate(items)]
    inner.set("expressions", [*numbered, *_hidden(name, _identity_columns(root, name))])
    return labelled_query(Sql(inner, root.inputs), names, around, root.view)


def _identity_columns(root: Sql, name: str) -> list[str]:
    """Return the columns that tell one group of the operator from another."""
    node = root.inputs[name.lower()]
    match node:
        case ChangingGroups(groups):
            return [column.name for column in groups.keys]
        case WindowAggregate(groups):
            return [*groups.keys, START, END]
    raise AssertionError(node)


def _hidden(table: str, identity: list[str]) -> list[exp.Expr]:
    """Return the columns by which changes are told from one another."""
    columns = [exp.column(name, table=table, quoted=True) for name in identity]
    told = exp.func("to_json", exp.func("struct", *columns)) if columns else exp.Literal.string("")
    cases = " ".join(f"WHEN '{said}' THEN {kind:d}" for kind, said in OPERATIONS.items())
    kind = parse_one(f"CAST(CASE {table}.{OPERATION} {cases} END AS TINYINT)", read=DIALECT)
    return [exp.alias_(told, IDENTITY), exp.alias_(kind, CHANGE)]
