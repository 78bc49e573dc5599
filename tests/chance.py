"""How random tests draw: from which seed, and how many examples.

Every day each test draws the same. Another seed, be it a new one of `pytest --nightly` or that of `--hypothesis-seed`,
gives all of them other draws. `--nightly` tries thirty times as many examples of each property, CEPSQL_EXAMPLES says
how many; and of cases that are alike, such as queries that are compared with tables, it runs all and not a share.
"""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

EVERYDAY_SEED = 1
_EVERYDAY_EXAMPLES = 20
"""Of a property that does not say how many."""
_MORE_BY_NIGHT = 30
_Case = TypeVar("_Case")

_seed, _nightly = EVERYDAY_SEED, False


def begin(seed: int, nightly: bool) -> None:
    """Say how this run draws, before any test is imported."""
    global _seed, _nightly
    _seed, _nightly = seed, nightly
    settings.register_profile("cepsql", deadline=None, print_blob=True, max_examples=examples(_EVERYDAY_EXAMPLES))
    settings.load_profile("cepsql")


def examples(everyday: int) -> int:
    """Return how many examples to try where an everyday run tries so many."""
    return int(os.environ.get("CEPSQL_EXAMPLES", everyday * (_MORE_BY_NIGHT if _nightly else 1)))


def is_night() -> bool:
    """Tell whether what takes long is to be run."""
    return _nightly


def everyday(cases: Iterable[_Case], share: int = 2) -> list[_Case]:
    """Return which of some cases that are alike this run tries: one of `share`, or by night all."""
    all_cases = list(cases)
    return all_cases if _nightly else all_cases[::share]


def rest_by_night(cases: list[ParameterSet], share: int) -> list[ParameterSet]:
    """Return cases of a data file, of which one of `share` runs every day; --update and names reach the others, too."""
    rest = pytest.mark.nightly(f"one of {share} runs every day")
    return [
        case if number % share == 0 else pytest.param(*case.values, id=case.id, marks=rest)
        for number, case in enumerate(cases)
    ]


def draws(name: object) -> random.Random:
    """Return a source of random draws; `name` tells it from those of others, and chooses what is drawn every day."""
    return random.Random(name if _seed == EVERYDAY_SEED else f"{name} {_seed}")
