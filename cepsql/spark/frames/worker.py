"""What a Python worker of Spark's does before its rows."""

import ctypes
import gc
import itertools
import sys

_FIRST_TASKS = 4
_tasks = itertools.count(1)

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MOST_ARENAS = -1, -3, -8
"""Numbers of glibc's `mallopt`."""
_FREE_BYTES, _MAPPED_BYTES = 64 * 2**20, 32 * 2**20


def settle() -> None:
    """Leave what the worker has loaded out of garbage collections, and let it use freed memory again; call it when a
    task begins.

    Spark collects garbage after every task: over the modules alone that takes a tenth of a worker's time. The first few
    tasks load them; from then on what a task leaves behind is collected.
    """
    task = next(_tasks)
    if task == 1:
        _keep_free_memory()
    if task <= _FIRST_TASKS:
        gc.collect()
        gc.freeze()


def _keep_free_memory() -> None:
    """Let glibc keep what is freed: a block of rows in memory that is new to the process takes a fault for each page,
    a tenth of the time of reading CSV. Threads take it from one arena; each of its own would keep as much."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
            mallopt(_TRIM_THRESHOLD, _FREE_BYTES)
            mallopt(_MOST_ARENAS, 1)
