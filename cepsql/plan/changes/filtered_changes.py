"""Groups that change of which HAVING leaves some out: what a row does depends on which halves of its update pass."""

from sqlglot import exp, parse_one

from cepsql.analysis.operators.emission import OPERATION, OPERATIONS
from cepsql.language.tokens import DIALECT
from cepsql.plan.changes.labelled_changes import hidden_columns, labelled_query, numbered
from cepsql.plan.tree.nodes import Ordered, Sql
from cepsql.plan.tree.rows_below import AROUND


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
    groups = root.inputs[name.lower()]
    assert isinstance(groups, Ordered)
    identity = [exp.column(column, table=name, quoted=True) for column in groups.identity_columns]
    inner.set("expressions", [*numbered(items), *hidden_columns(identity, _kind(name))])
    return labelled_query(Sql(inner, root.inputs), names, around)


def _kind(table: str) -> exp.Expr:
    """Return the number of the `Change` that OPERATION says."""
    cases = " ".join(f"WHEN '{said}' THEN {kind:d}" for kind, said in OPERATIONS.items())
    return parse_one(f"CASE {table}.{OPERATION} {cases} END", read=DIALECT)
