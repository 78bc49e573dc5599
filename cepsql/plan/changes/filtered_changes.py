"""Groups that change of which HAVING leaves some out: what a row does depends on which halves of its update pass."""

from collections.abc import Sequence

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.emit_clause import OPERATION, OPERATIONS
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
    *items, _ = select.expressions
    names = [item.alias_or_name for item in items]
    inner = select.copy()
    around = {part: inner.args.pop(part) for part in AROUND if inner.args.get(part) is not None}
    return labelled_query(_with_hidden(Sql(inner, root.inputs), numbered(items)), names, around)


def as_changes(root: Sql) -> Sql:
    """Return the rows of a query as changes, with IDENTITY and CHANGE in place of OPERATION; `root` as of
    `with_whole_updates`."""
    return _with_hidden(root, root.query.selects[:-1])


def _with_hidden(root: Sql, items: Sequence[exp.Expr]) -> Sql:
    inner = root.query.copy()
    assert isinstance(inner, exp.Select)
    name = inner.args["from_"].this.name
    groups = root.inputs[name.lower()]
    assert isinstance(groups, Ordered)
    identity = [exp.column(column, table=name, quoted=True) for column in groups.identity_columns]
    inner.set("expressions", [*(item.copy() for item in items), *hidden_columns(identity, _kind(name))])
    return Sql(inner, root.inputs)


def _kind(table: str) -> exp.Expr:
    """Return the number of the `Change` that OPERATION says."""
    cases = " ".join(f"WHEN '{said}' THEN {kind:d}" for kind, said in OPERATIONS.items())
    return parse_one(f"CASE {table}.{OPERATION} {cases} END", read=DIALECT)
