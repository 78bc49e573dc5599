"""The limits that settings give the search for matches."""

from collections.abc import Mapping
from dataclasses import replace

from cepsql.pattern.program import STEP_BUDGET, UNDECIDED_ROWS, MatchProgram


def limited(program: MatchProgram, settings: Mapping[str, str]) -> MatchProgram:
    """Return a program with the limits that settings give its search."""
    strict = program.strict or settings.get("cepsql.strict", "").lower() == "true"
    budget = int(settings.get("cepsql.step_budget", STEP_BUDGET))
    undecided = int(settings.get("cepsql.undecided_rows", UNDECIDED_ROWS))
    beside = tuple(limited(each, settings) for each in program.beside)
    return replace(program, strict=strict, step_budget=budget, undecided_rows=undecided, beside=beside)
