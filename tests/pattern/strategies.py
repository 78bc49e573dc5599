"""Random patterns, rows and conditions."""

from hypothesis import strategies as st

from cepsql.pattern import ir
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchNumber, Navigation
from cepsql.scalar.expressions import Call, Literal

NAMES = ("A", "B", "C")
_SETS = st.one_of(st.none(), st.sets(st.integers(0, len(NAMES) - 1), min_size=1, max_size=2).map(frozenset))


def patterns(anchors: bool = True) -> st.SearchStrategy[ir.Pattern]:
    """Patterns of up to three variables."""
    leaves = [st.sampled_from(NAMES).map(ir.Variable)] * 6 + [st.just(ir.Empty())]
    if anchors:
        leaves.append(st.booleans().map(ir.Anchor))
    return st.recursive(st.one_of(leaves), _larger, max_leaves=6)


def _larger(inner: st.SearchStrategy[ir.Pattern]) -> st.SearchStrategy[ir.Pattern]:
    some = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        some.map(ir.Concat),
        some.map(ir.Concat),
        some.map(ir.Alternate),
        st.lists(inner, min_size=2, max_size=2).map(tuple).map(ir.Permute),
        inner.map(ir.Exclude),
        st.builds(
            lambda part, low, more, greedy: ir.Repeat(part, low, None if more is None else low + more, greedy),
            inner,
            st.integers(0, 2),
            st.sampled_from((None, None, None, 0, 1, 2)),
            st.booleans(),
        ),
    )


def rows(max_size: int = 7) -> st.SearchStrategy[list[dict]]:
    """Rows of one partition, in order of time."""
    row = st.fixed_dictionaries(
        {
            "t": st.integers(0, 2),
            "v0": st.one_of(st.none(), st.integers(0, 3)),
            "v1": st.integers(0, 3),
            "f": st.one_of(st.none(), st.sampled_from((0.0, 1.5, float("nan")))),
            "m": st.sampled_from(range(1 << len(NAMES))),
        }
    )
    return st.lists(row, max_size=max_size).map(_in_time)


def _in_time(rows: list[dict]) -> list[dict]:
    """Take the times as distances from the row before."""
    time, result = 0, []
    for row in rows:
        time += row["t"]
        result.append({**row, "t": time})
    return result


def bits() -> st.SearchStrategy[tuple]:
    """Conditions that read the row only."""
    return st.just(tuple(Bit(index) for index in range(len(NAMES))))


def conditions(next_rows: bool = True) -> st.SearchStrategy[tuple]:
    """Conditions that read the match so far, one a variable."""
    shifts = st.sampled_from((0, 0, 0, -1, -2, 1, 2) if next_rows else (0, 0, 0, -1, -2))
    offsets = st.integers(0, 2)
    numbers = st.one_of(
        st.builds(Navigation, st.sampled_from(("v0", "v1")), _SETS, st.booleans(), offsets, shifts),
        st.builds(
            Aggregate,
            st.sampled_from(("count", "sum", "avg", "min", "max")),
            st.sampled_from(("v0", "v1")),
            _SETS,
            st.booleans(),
        ),
        st.builds(Aggregate, st.just("count"), st.none(), _SETS),
        st.just(MatchNumber()),
        st.builds(Literal, st.integers(0, 3)),
        st.just(Navigation("f", None, False, 0)),
        st.builds(Navigation, st.just("f"), _SETS, st.booleans(), offsets),
        st.builds(Aggregate, st.sampled_from(("min", "max", "count")), st.just("f"), _SETS, st.booleans()),
    )
    labels = st.one_of(
        st.builds(Classifier, _SETS, st.booleans(), offsets, shifts),
        st.builds(Classifier, _SETS, st.booleans(), offsets),
        st.builds(Literal, st.sampled_from(NAMES)),
    )
    compared = st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge"))
    tests = st.one_of(
        st.builds(lambda name, a, b: Call(name, (a, b)), compared, numbers, numbers),
        st.builds(lambda name, a, b: Call(name, (a, b)), compared, labels, labels),
        st.builds(lambda a: Call("isnull", (a,)), numbers),
        st.integers(0, len(NAMES) - 1).map(Bit),
    )
    combined = st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds(lambda a, b: Call("and", (a, b)), inner, inner),
            st.builds(lambda a, b: Call("or", (a, b)), inner, inner),
            st.builds(lambda a: Call("not", (a,)), inner),
        ),
        max_leaves=3,
    )
    return st.tuples(*[st.one_of(st.none(), st.builds(Bit, st.just(v)), combined, combined) for v in range(len(NAMES))])
