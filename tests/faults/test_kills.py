"""Standing queries that are killed lose no row and double none; `kills.py` kills more often, and elsewhere."""

import os

import pytest
from chance import draws, examples
from input import FILES, ROWS
from kills import Round, differences, rounds

KILLS = examples(6)


@pytest.mark.nightly("it takes minutes")
def test_nothing_is_lost_or_doubled():
    with rounds(required=os.environ.get("CEPSQL_TEST_SERVERS") == "required") as (folder, server, broker):
        undisturbed = Round(folder / "undisturbed", server, broker)
        undisturbed.run(None)
        expected = undisturbed.outcome()
        assert all(expected.written.values())
        assert expected.counts["match"]["rows_read"] == FILES * ROWS
        killed = Round(folder / "killed", server, broker)
        killed.run(draws("kills"), KILLS)
        assert differences(expected, killed.outcome()) == [], f"killed {killed.kills}"
        assert killed.kills
