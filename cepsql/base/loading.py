"""Spark's Python part, which is loaded when it is needed, by one thread."""

import threading

_LOCK = threading.Lock()


def load_spark() -> None:
    """Load pyspark before parts of it are imported.

    Its modules import one another in circles, in which two threads that begin with different ones would meet: a name
    could not be imported. `Engine.spark` does it: whoever imports what is made of pyspark asks for the session before.
    """
    with _LOCK:
        import pyspark.sql  # noqa: F401
