"""The options of a sink, checked: an unknown option is an error."""

from collections.abc import Iterable

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.catalog import Sink
from cepsql.errors import ProgrammingError, suggestion


class Options:
    """The options of a sink by their lower-case names.

    allowed: the names of the options; a name that ends in `.` stands for all that begin with it.
    Raises ProgrammingError for other options, and for an option that is given twice.
    """

    def __init__(self, sink: Sink, allowed: Iterable[str]):
        self._sink = sink
        self._values: dict[str, str] = {}
        allowed = list(allowed)
        for name, value in sink.options:
            low = name.lower()
            if low not in allowed and not any(k.endswith(".") and low.startswith(k) and low != k for k in allowed):
                hint = suggestion(name, allowed, "options")
                raise ProgrammingError(f"sink {sink.name} USING {sink.format} has no option {name}", hint=hint)
            if low in self._values:
                raise ProgrammingError(f"the option {name} of sink {sink.name} is given twice")
            self._values[low] = value

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an option."""
        return self._values.get(name, default)

    def needed(self, name: str, example: str) -> str:
        """Return the value of a required option."""
        value = self._values.get(name)
        if not value:
            hint = f"for example OPTIONS ({name} '{example}')"
            raise ProgrammingError(
                f"sink {self._sink.name} USING {self._sink.format} needs the option {name}", hint=hint
            )
        return value

    def choice(self, name: str, choices: Iterable[str]) -> str:
        """Return the value of an option with these choices, the first by default."""
        choices = list(choices)
        value = self._values.get(name, choices[0]).lower()
        if value not in choices:
            raise self._wrong(name, f"is {', '.join(choices[:-1])} or {choices[-1]}")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean option, false by default."""
        return self.choice(name, ("false", "true")) == "true"

    def seconds(self, name: str, default: float, least: float = 0) -> float:
        """Return an option such as '10 minutes' in seconds, at least `least`."""
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
        """Return the options whose names begin with a prefix, by the rest of their names as written."""
        written = (
            (name[len(prefix) :], value) for name, value in self._sink.options if name.lower().startswith(prefix)
        )
        return dict(written)

    def _wrong(self, name: str, what: str) -> ProgrammingError:
        return ProgrammingError(f"the option {name} of sink {self._sink.name} {what}")
