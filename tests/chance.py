"""How random tests draw: from which seed, and how many examples.

Every day each test draws the same. Another seed, be it a new one of `pytest --nightly` or that of `--hypothesis-seed`,
gives all of them other draws. `--nightly` tries ten times as many examples of each property, CEPSQL_EXAMPLES says how
many.
"""

import os
import random

from hypothesis import settings

EVERYDAY_SEED = 1
_MORE_BY_NIGHT = 10

_seed, _factor = EVERYDAY_SEED, 1


def begin(seed: int, nightly: bool) -> None:
    """Say how this run draws, before any test is imported."""
    global _seed, _factor
    _seed, _factor = seed, _MORE_BY_NIGHT if nightly else 1
    settings.register_profile("cepsql", deadline=None, print_blob=True)
    settings.load_profile("cepsql")


def examples(everyday: int) -> int:
    """Return how many examples to try where an everyday run tries so many."""
    return int(os.environ.get("CEPSQL_EXAMPLES", everyday * _factor))


def draws(name: object) -> random.Random:
    """Return a source of random draws; `name` tells it from those of others, and chooses what is drawn every day."""
    return random.Random(name if _seed == EVERYDAY_SEED else f"{name} {_seed}")
