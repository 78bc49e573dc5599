"""Run the stream scripts of this folder (`cepsql.stream_script`), straight and with a restart after every batch.

`--update` writes the rows that really come out.
"""

from pathlib import Path

import pytest

from cepsql.stream_script import read_stream_script

SCRIPTS = sorted(Path(__file__).parent.glob("*.test"))


@pytest.mark.parametrize("restart", [False, True], ids=["straight", "restarted"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script, restart, spark, request):
    test = read_stream_script(script)
    seen = test.run(restart, spark)
    if request.config.getoption("--update") and not restart:
        script.write_text(test.with_expected(seen))
        return
    assert seen == [step.expected for step in test.steps]
