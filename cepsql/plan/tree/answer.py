"""Errors as values: the answer to a question that may be refused, and then is asked otherwise."""

from collections.abc import Callable
from typing import TypeVar

from cepsql.errors import Error

T = TypeVar("T")


def answer(ask: Callable[[], T]) -> T | Error:
    """Return what a question gives, or why it is refused."""
    try:
        return ask()
    except Error as error:
        return error.with_traceback(None)
