"""What a Python worker of Spark's does once, before its first rows."""

import functools
import gc


@functools.cache
def settle() -> None:
    """Leave all that is loaded by now out of garbage collections.

    Spark collects garbage after every task: over the modules alone that takes a tenth of a worker's time.
    """
    gc.collect()
    gc.freeze()
