"""Servers for fixtures: without one the tests are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from server import Unavailable


@contextlib.contextmanager
def skipping() -> Iterator[None]:
    """Skip the test where what is in the block raises Unavailable."""
    try:
        yield
    except Unavailable as reason:
        if os.environ.get("CEPSQL_TEST_SERVERS") == "required":
            raise
        pytest.skip(str(reason))


@contextlib.contextmanager
def or_skipped(running: Callable[[], AbstractContextManager]) -> Iterator:
    """Lend what `running` starts; where it raises Unavailable, skip the test."""
    with skipping(), running() as server:
        yield server
