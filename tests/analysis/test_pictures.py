"""Patterns with their drawing, and their automata as Graphviz and Mermaid text."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from catalog import engine
from chance import examples
from golden import check, params
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.errors import NotSupportedError
from cepsql.explain.picture import dot, mermaid
from cepsql.explain.railroad import draw, legend
from cepsql.language.pattern_text import parse_pattern
from cepsql.pattern import ir
from cepsql.pattern.automaton import automaton
from cepsql.pattern.compile import compile_pattern

HERE = Path(__file__).parent
ATOMS = st.sampled_from(["A", "B", "C", "()", "^", "$"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join).map("({})".format),
        st.tuples(inner, inner).map(" | ".join).map("({})".format),
        st.tuples(inner, st.sampled_from(["*", "+?", "??", "{2}", "{,3}", "{1,2}?"])).map(lambda p: f"({p[0]}){p[1]}"),
        st.tuples(inner, inner).map(lambda p: f"PERMUTE({p[0]}, {p[1]})"),
        inner.map("{{- {} -}}".format),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("case", params(HERE, "drawings.txt"))
def test_drawing(case, update):
    lines = draw(_parsed(case.text))
    check(case, "\n".join([*lines, *legend(lines)]), update)


@pytest.mark.parametrize("case", params(HERE, "pictures.sql"))
def test_picture(case, update):
    check(case, engine().sql(case.text).text, update)


@settings(max_examples=examples(20))
@given(PATTERNS, st.integers(20, 60))
def test_drawings_have_every_variable_and_straight_tracks(text, width):
    parsed = _parsed(text)
    lines = draw(parsed, width)
    leaves = [node.name for node in ir.walk(parsed) if isinstance(node, ir.Variable)]
    assert sorted(re.findall(r"\[(\w+)\]", "".join(lines))) == sorted(leaves)
    padded = [line.ljust(max(map(len, lines))) for line in lines]
    for upper, lower in pairwise(padded):
        for above, below in zip(upper, lower, strict=True):
            assert above not in "│║" or below in "│║├┤╰╯╠╣╚╝"
            assert below not in "│║├┤╰╯╠╣╚╝" or above in "│║├┤┬╠╣╦"


@settings(max_examples=examples(20))
@given(PATTERNS, st.sampled_from(["", 'a "quoted" \\ <name> | #1']))
def test_graphs_are_well_formed(text, note):
    parsed = _parsed(text)
    states = automaton(compile_pattern(parsed, ir.variables(parsed)))
    written = dot(states, [note] if note else [])
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", written)
    assert '"' not in unquoted
    assert unquoted.count("{") == unquoted.count("}") and unquoted.count("[") == unquoted.count("]")
    _check_nodes(re.findall(r"^ +(\w+) \[", unquoted, re.M), re.findall(r"(\w+) -> (\w+)", unquoted), states)
    chart = mermaid(states, [note] if note else [])
    assert all(line.count('"') % 2 == 0 for line in chart.splitlines())
    unquoted = re.sub(r'"[^"]*"', "", chart)
    edges = re.findall(r"(\w+) -\.?->(?:\|\|)? (\w+)", unquoted)
    _check_nodes(re.findall(r"^  (m\d+_s\d+)\(", unquoted, re.M), edges, states)


def _check_nodes(nodes: list[str], edges: list[tuple[str, str]], states) -> None:
    assert len(nodes) == len(set(nodes)) == len(states)
    assert {node for edge in edges for node in edge} <= set(nodes)
    assert len(edges) == sum(len(state.steps) for state in states)


def test_what_is_too_large_is_not_drawn():
    large = "SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A{400}))"
    with pytest.raises(NotSupportedError, match="402 states"):
        engine().sql(f"EXPLAIN PATTERN AS DOT {large}")


def _parsed(text: str) -> ir.Pattern:
    return parse_pattern(text, 0)[0]
