"""Servers for fixtures: without one the tests are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from server import Unavailable


@contextlib.contextmanager
def or_skipped(running: Callable[[], AbstractContextManager]) -> Iterator:
    """Lend what `running` starts; where it raises Unavailable, skip the test."""
    try:
        with running() as server:
            yield server
    except Unavailable as reason:
        if os.environ.get("CEPSQL_TEST_SERVERS") == "required":
            raise
        pytest.skip(str(reason))
