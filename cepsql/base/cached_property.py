"""A property that is computed once, without a lock.

Python 3.11's `functools.cached_property` holds one lock for each property of a class, for all its objects, while it
computes. Properties of the nodes of a plan ask for those of their inputs: two threads that plan would take the locks in
different orders and wait for each other for ever.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property whose value is stored in its object when it is first read.

    Threads that read it at the same time may compute it each for itself, and all get the value that was stored first.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # Found here only by a thread that came second: Python looks into the object's values first.
        return instance.__dict__.setdefault(self._name, self._compute(instance))
