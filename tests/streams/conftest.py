"""States of streams are small here; most of what they remember by key is in files all the same."""

import functools

import pytest

from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.spark.checkpoint import checkpoint


@pytest.fixture(autouse=True)
def files_of_few_bytes(monkeypatch):
    monkeypatch.setattr(checkpoint, "StateFolder", functools.partial(StateFolder, least=2000))
