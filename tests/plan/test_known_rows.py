"""What a rule hands on as known of a node's rows is what is found of the node itself."""

from copy import copy
from pathlib import Path

import pytest
from catalog import engine
from golden import params

from cepsql.plan.rules import RULES
from cepsql.plan.tree.nodes import known_rows, walk

HERE = Path(__file__).parent / "rules"
CASES = [case for rule in RULES for case in params(HERE, f"{rule.__name__}.txt")]


@pytest.mark.parametrize("case", CASES)
def test_what_is_known_of_rows_is_so(case):
    for node in walk(engine().sql(case.text).plan.root):
        if known_rows(node) is not None:
            fresh = copy(node)
            fresh.__dict__.pop("properties")
            assert fresh.properties == known_rows(node)
