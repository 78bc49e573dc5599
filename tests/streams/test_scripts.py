"""Run the stream scripts of this folder (`cepsql.stream_script`), with a restart after every other batch or so.

`--update` writes the rows that really come out.
"""

from pathlib import Path

import pytest
from chance import draws

from cepsql.stream_script import read_stream_script

SCRIPTS = sorted(Path(__file__).parent.glob("*.test"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script, spark, update):
    test = read_stream_script(script)
    batches = sum(step.name in ("batch", "heartbeat") for step in test.steps)
    restarts = draws(script.stem).sample(range(batches), (batches + 1) // 2)
    seen = test.run(restarts, spark)
    if update:
        script.write_text(test.with_expected(seen))
        return
    expected = [step.expected for step in test.steps]
    assert seen == expected, f"with restarts after the batches {sorted(restarts)} from 0"
