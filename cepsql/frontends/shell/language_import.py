"""The language, imported once by whichever thread needs it first.

Two threads that import modules which import one another would each see the other's half done.
"""

import threading
from types import ModuleType

_LOCK = threading.Lock()


def language() -> ModuleType:
    """Return `cepsql.language.parse`; the first call takes some tenths of a second."""
    with _LOCK:
        import cepsql.language.parse

        return cepsql.language.parse
