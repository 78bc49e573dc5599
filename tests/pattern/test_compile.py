"""Compiled row patterns: their text form from data files, and what cannot be compiled."""

from pathlib import Path

import pytest
from golden import check, params
from notation import pattern

from cepsql.errors import NotSupportedError
from cepsql.pattern import ir
from cepsql.pattern.compile import compile_pattern, dump, first_variables, nullable


@pytest.mark.parametrize("case", params(Path(__file__).parent, "compiled.txt"))
def test_dump(case, update) -> None:
    parsed = pattern(case.text)
    code = compile_pattern(parsed, ir.variables(parsed))
    first = [code.variables[v] for v in sorted(first_variables(code))] + ["nothing"] * nullable(code)
    check(case, f"{dump(code)}\nfirst: {' or '.join(first)}", update)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("PERMUTE(A, B, C, D, E, F, G)", "PERMUTE of 7 arguments"),
        ("A{20000}", "A{20000}"),
        ("((A{100}){100}){100}", "more than 20000 steps"),
        ("PERMUTE(A{9}, B{9}, C{9}, D{9}, E{9}, PERMUTE(F, G, H))", "PERMUTE"),
    ],
)
def test_too_large(text: str, named: str) -> None:
    parsed = pattern(text)
    with pytest.raises(NotSupportedError) as error:
        compile_pattern(parsed, ir.variables(parsed))
    assert named in error.value.message
    assert error.value.hint


def test_many_nothings_are_nothing() -> None:
    assert len(compile_pattern(pattern("(() | ()){1000000000}"), ()).instructions) == 1
