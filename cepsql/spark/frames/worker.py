"""What a Python worker of Spark's does before its rows."""

import gc
import itertools

_FIRST_TASKS = 4
_tasks = itertools.count(1)


def settle() -> None:
    """Leave what the worker has loaded out of garbage collections; call it when a task begins.

    Spark collects garbage after every task: over the modules alone that takes a tenth of a worker's time. The first few
    tasks load them; from then on what a task leaves behind is collected.
    """
    if next(_tasks) <= _FIRST_TASKS:
        gc.collect()
        gc.freeze()
