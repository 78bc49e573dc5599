"""The options of a sink, checked: none that is unknown is passed over."""

from collections.abc import Iterable

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.catalog import Sink
from cepsql.errors import ProgrammingError, suggestion


class Options:
    """The options of a sink by their names in small letters.

    known:    which there may be; a name that ends in `.` stands for all that begin with it.
    Raises ProgrammingError for others, and for one that is given twice.
    """

    def __init__(self, sink: Sink, known: Iterable[str]):
        self._sink = sink
        self._values: dict[str, str] = {}
        known = list(known)
        for name, value in sink.options:
            low = name.lower()
            if low not in known and not any(k.endswith(".") and low.startswith(k) and low != k for k in known):
                hint = suggestion(name, known, "options")
                raise ProgrammingError(f"sink {sink.name} USING {sink.format} has no option {name}", hint=hint)
            if low in self._values:
                raise ProgrammingError(f"the option {name} of sink {sink.name} is given twice")
            self._values[low] = value

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an option."""
        return self._values.get(name, default)

    def needed(self, name: str, example: str) -> str:
        """Return the value of an option that must be there."""
        value = self._values.get(name)
        if not value:
            hint = f"for example OPTIONS ({name} '{example}')"
            raise ProgrammingError(
                f"sink {self._sink.name} USING {self._sink.format} needs the option {name}", hint=hint
            )
        return value

    def choice(self, name: str, choices: Iterable[str]) -> str:
        """Return the value of an option that is one of some, the first by default."""
        choices = list(choices)
        value = self._values.get(name, choices[0]).lower()
        if value not in choices:
            raise self._wrong(name, f"is {', '.join(choices[:-1])} or {choices[-1]}")
        return value

    def flag(self, name: str) -> bool:
        """Return an option that is true or false, false by default."""
        return self.choice(name, ("false", "true")) == "true"

    def seconds(self, name: str, default: float, least: float = 0) -> float:
        """Return the seconds of an option such as '10 minutes', which are `least` or more."""
        value = self._values.get(name)
        if value is None:
            return default
        try:
            micros = duration_micros(value)
        except ProgrammingError:
            micros = -1
        if micros < least * 1_000_000:
            raise self._wrong(name, f"is a time such as '10 minutes', not '{value}'")
        return micros / 1_000_000

    def below(self, prefix: str) -> dict[str, str]:
        """Return the options whose names begin with a prefix, by what follows it, as it is written."""
        written = (
            (name[len(prefix) :], value) for name, value in self._sink.options if name.lower().startswith(prefix)
        )
        return dict(written)

    def _wrong(self, name: str, what: str) -> ProgrammingError:
        return ProgrammingError(f"the option {name} of sink {self._sink.name} {what}")
