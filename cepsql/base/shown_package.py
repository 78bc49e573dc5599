"""What `help(cepsql)` shows of the package: the names that users call, not its modules."""

import sys
from types import ModuleType


class ShownPackage(ModuleType):
    """A package without a list of its modules in pydoc, which would list all, and most are internal."""

    @property
    def __path__(self) -> list[str]:  # type: ignore[override]
        """The folders of the modules, unless pydoc asks."""
        if sys._getframe(1).f_globals.get("__name__") == "pydoc":
            raise AttributeError("__path__")
        return self.__dict__["__path__"]
