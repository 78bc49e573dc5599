"""Views, a chain of them and a group while their server is killed; `view_kills.py` kills more often."""

import pytest
from chance import draws
from view_kills import Round

KILLS = 6


@pytest.mark.nightly("it takes minutes")
def test_no_read_sees_half_a_batch_and_no_subscription_loses_a_change(tmp_path):
    killed = Round(tmp_path / "views", draws("kills of views"))
    killed.run(KILLS, float("inf"))
    assert killed.errors == []
    assert killed.kills == KILLS and killed.reads and killed.changes
