"""Run the stream scripts of this folder (`frontends.stream_script`): one of twelve, with restarts after one of four
batches, or by night all of them, after half of the batches.

`--update` writes the rows that really come out.
"""

import math
from pathlib import Path

import pytest
from chance import draws, everyday, is_night

from cepsql.frontends.stream_script import read_stream_script

SCRIPTS = sorted(Path(__file__).parent.glob("*.test"))
EVERYDAY = everyday(SCRIPTS, 12)
BY_NIGHT = pytest.mark.nightly("one of twelve runs every day")


@pytest.mark.parametrize(
    "script", [pytest.param(path, id=path.stem, marks=() if path in EVERYDAY else BY_NIGHT) for path in SCRIPTS]
)
def test_script(script, spark, update):
    test = read_stream_script(script)
    batches = sum(step.name in ("batch", "heartbeat") for step in test.steps)
    restarts = draws(script.stem).sample(range(batches), math.ceil(batches / (2 if is_night() else 4)))
    seen = test.run(restarts, spark)
    if update:
        script.write_text(test.with_expected(seen))
        return
    expected = [step.expected for step in test.steps]
    assert seen == expected, f"with restarts after the batches {sorted(restarts)} from 0"
