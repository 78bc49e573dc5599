"""Servers for fixtures: without one the tests are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest


@contextlib.contextmanager
def or_skipped(running: Callable[[], AbstractContextManager], unavailable: type[Exception]) -> Iterator:
    """Lend what `running` starts; where it raises `unavailable`, skip the test."""
    try:
        with running() as server:
            yield server
    except unavailable as reason:
        if os.environ.get("CEPSQL_TEST_SERVERS") == "required":
            raise
        pytest.skip(str(reason))
