"""by_position: what it can resolve, and the matches found by it against backtracking."""

import pytest
from chance import examples
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from notation import matches, partition, pattern, program, whole
from strategies import NAMES, patterns, rows

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.backtrack import find_backtracking
from cepsql.pattern.matcher import _find_by_position
from cepsql.pattern.program import Aggregate, Bit, Navigation
from cepsql.pattern.scanning.by_position import by_position
from cepsql.pattern.vector import test_rows as evaluate_rows
from cepsql.scalar.expressions import Call, Literal, Null, leaves

A, B, C = (frozenset([i]) for i in range(3))


def last(variables, offset=0, shift=0):
    return Navigation("v0", variables, False, offset, shift)


def first(variables, offset=0):
    return Navigation("v0", variables, True, offset)


def less(a, b):
    return Call("lt", (a, b))


ROW = Navigation("v0")

CASES = {
    "the row before": ("A B", [None, less(ROW, last(A))], [None, less(ROW, Navigation("v0", shift=-1))]),
    "two rows before": ("A C B", [None, less(ROW, last(A)), None], [None, None, less(ROW, Navigation("v0", shift=-2))]),
    "one optional row between": ("A C? B", [None, less(ROW, last(A)), None], None),
    "no such row": ("A B", [less(ROW, last(B)), None], [less(ROW, Null(ROW)), None]),
    "the first and further iterations": (
        "A+",
        [less(ROW, last(A, 1))],
        [less(ROW, Null(ROW)), less(ROW, Navigation("v0", shift=-1))],
    ),
    "first and second row": ("A B", [None, less(first(None), first(None, 1))], None),
    "an aggregate": ("A B", [None, less(ROW, Aggregate("sum", "v0", A))], None),
}


@pytest.mark.parametrize("case", CASES)
def test_resolved(case: str) -> None:
    text, conditions, wanted = CASES[case]
    if case == "first and second row":
        wanted = [None, less(Navigation("v0", shift=-1), Navigation("v0", shift=0))]
    names = NAMES[: len(conditions)]
    resolved = by_position(program(pattern(text), conditions, names), frozenset())
    assert (None if resolved is None else list(resolved.program.conditions)) == wanted


def test_coalesce_needs_columns_without_null() -> None:
    condition = less(ROW, Call("coalesce", (last(B, 1), last(A))))
    asked = program(pattern("A B+"), [None, condition], ("A", "B"))
    assert by_position(asked, frozenset()) is None
    resolved = by_position(asked, frozenset(["v0"]))
    before = Call("coalesce", (Navigation("v0", shift=-1),))
    assert resolved.program.conditions == (None, less(ROW, before))
    assert resolved.variable_of == (0, 1)


def _navigation() -> st.SearchStrategy:
    sets = st.one_of(st.none(), st.sampled_from((A, B, C)), st.just(A | B))
    return st.builds(
        Navigation,
        st.sampled_from(("v0", "v1")),
        sets,
        st.sampled_from((False, False, False, True)),
        st.sampled_from((0, 0, 1, 2)),
        st.sampled_from((0, 0, 0, -1, 1)),
    )


def _conditions() -> st.SearchStrategy[tuple]:
    value = st.one_of(
        _navigation(),
        _navigation(),
        st.builds(lambda a, b: Call("coalesce", (a, b)), _navigation(), _navigation()),
        st.integers(0, 3).map(Literal),
    )
    test = st.one_of(
        st.builds(lambda name, a, b: Call(name, (a, b)), st.sampled_from(("lt", "ge", "ne")), value, value),
        st.builds(lambda a: Call("isnull", (a,)), value),
    )
    own = st.one_of(st.none(), st.integers(0, 2).map(Bit), test, test)
    return st.tuples(own, own, own)


@settings(max_examples=examples(30))
@given(
    patterns(anchors=False),
    rows(9),
    _conditions(),
    st.sampled_from(("past last row", "to next row")),
    st.sampled_from((None, None, 2, 4)),
    st.randoms(),
)
def test_the_same_matches_as_by_backtracking(parsed, rows, conditions, skip, within, random) -> None:
    asked = program(parsed, conditions, NAMES, skip=skip, within=within)
    assume(by_position(asked, frozenset(["v0", "v1", "m"])) is not None)
    tail = rows[-1]["t"] if rows else 0
    scan = number = 0
    # Where NEXT waits for a row, backtracking may wait longer than it must.
    ahead = any(getattr(leaf, "shift", 0) > 0 for condition in conditions for leaf in leaves(condition))
    cuts = [] if ahead else sorted(random.sample(range(tail + 3), 2))
    for bound in (*cuts, END_OF_TIME):
        row_count = sum(row["t"] <= bound for row in rows)
        cut = whole(rows) if bound == END_OF_TIME and scan == 0 else partition(rows, scan, number, bound, row_count)
        search = _find_by_position(asked, cut)
        wanted = find_backtracking(asked, cut, evaluate_rows(asked, cut))
        event("resolved" if search else "left to backtracking")
        if search is not None:
            assert matches(search) == matches(wanted)
            assert (search.scan == wanted.scan).all()
        scan, number = int(wanted.scan[0]), int(wanted.numbers[0])


def test_constants_that_python_takes_as_equal_stay_apart() -> None:
    resolved = []
    for one in (1, 1.0, True):
        condition = Call("and", (less(ROW, last(A)), Call("eq", (ROW, Literal(one)))))
        resolved.append(by_position(program(pattern("A B"), [None, condition], ("A", "B")), frozenset()))
    constants = [f.program.conditions[1].arguments[1].arguments[1].value for f in resolved]
    assert list(map(repr, constants)) == ["1", "1.0", "True"]
