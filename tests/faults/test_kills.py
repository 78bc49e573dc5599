"""Standing queries that are killed lose no row and double none; `kills.py` kills more often, and elsewhere."""

import os
import random

from input import FILES, ROWS
from kills import Round, differences, rounds

KILLS = int(os.environ.get("CEPSQL_KILLS", "24"))


def test_nothing_is_lost_or_doubled(request):
    seed = random.randrange(1_000_000) if request.config.getoption("--nightly") else 5
    with rounds(required=os.environ.get("CEPSQL_TEST_SERVERS") == "required") as (folder, server):
        expected = Round(folder / "undisturbed", server)
        expected.run(None)
        assert all(expected.written().values())
        assert expected.counts()["match"]["rows_read"] == FILES * ROWS
        found = Round(folder / "killed", server)
        found.run(random.Random(seed), KILLS)
        assert differences(expected, found) == [], f"seed {seed}, killed {found.kills}"
        assert found.kills
