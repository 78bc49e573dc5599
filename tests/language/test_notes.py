"""Copies of trees are equal to them and can be changed by themselves; nodes of a class are found in one walk."""

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import annotate, qualified, schema_of
from cepsql.language.notes import Notes, copied, with_notes
from cepsql.language.tokens import DIALECT
from cepsql.language.tree_nodes import TreeNodes

TEXT = """
SELECT /* first */ a.x AS x, CAST(a.y AS DECIMAL(10, 2)) AS y, COUNT(DISTINCT b.z) AS n
FROM a JOIN b ON a.x = b.x WHERE a.y IN (1, 2) GROUP BY a.x, a.y ORDER BY x DESC
"""


def test_a_copy_is_what_sqlglot_copies():
    tree = with_notes(DIALECT.parse(TEXT)[0])
    schema = schema_of({"a": [("x", "int"), ("y", "string")], "b": [("x", "int"), ("z", "timestamp")]})
    typed = qualified(tree.copy(), schema)
    annotate(typed, schema)
    for one in (tree, typed, typed.selects[0]):
        copy, other = copied(one), one.copy()
        assert repr(copy) == repr(other)
        assert copy.parent is None
        for mine, theirs, origin in zip(copy.walk(), other.walk(), one.walk(), strict=True):
            assert mine is not origin
            assert (mine.arg_key, mine.index, mine.comments) == (theirs.arg_key, theirs.index, theirs.comments)
            assert mine._meta == theirs._meta
            assert mine._meta is None or type(mine._meta) is Notes
            assert mine.type == theirs.type
            assert mine.parent is None or any(part is mine for part in mine.parent.iter_expressions())


def test_changes_of_a_copy_leave_the_tree_alone():
    tree = with_notes(DIALECT.parse(TEXT)[0])
    before = repr(tree)
    copy = copied(tree)
    for identifier in copy.find_all(exp.Identifier):
        identifier.meta["start"] = 0
        identifier.set("this", "changed")
    copy.expressions[0].pop()
    assert repr(tree) == before
    assert all(identifier.meta.get("start") != 0 for identifier in tree.find_all(exp.Identifier))


def test_nodes_by_class_are_those_that_are_found():
    tree = DIALECT.parse(TEXT)[0]
    nodes = TreeNodes(tree)
    for classes in [(exp.Column,), (exp.Func,), (exp.Query, exp.Table), (exp.Expr,), (exp.CTE,), (exp.CTE, exp.Order)]:
        assert list(map(id, nodes.of(*classes))) == list(map(id, tree.find_all(*classes)))
