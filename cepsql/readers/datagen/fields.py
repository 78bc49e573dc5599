"""The options of USING datagen: the number of rows, their rate, and the values of each column."""

import datetime
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import ProgrammingError, Span, at_place, suggestion
from cepsql.scalar.types import DATE, DOUBLE, FLOAT, INTEGERS, STRING, TIMESTAMP, Type, is_decimal, parse_type

DATAGEN = "datagen"
"""The name of the format."""

OPTIONS = {
    "rows-per-second": "rows that a stream gives in a second, and by which event time advances; default 10",
    "number-of-rows": "after so many rows the input ends; a table needs it",
    "seed": "a whole number; another one gives other rows; default 0",
}
"""The options of the source itself, with their meaning."""

FIELD_OPTIONS = {
    "kind": "sequence, random, walk, choice, name or time",
    "min": "least value of random and walk",
    "max": "greatest value of random and walk",
    "start": "first value of sequence, walk and time",
    "end": "last value of sequence, with which the input ends",
    "step": "usual size of a step of walk; interval between the rows of time, such as 5 seconds",
    "per": "a column: each of its values has a walk of its own",
    "values": "those of choice, separated by commas",
    "length": "characters of a random STRING",
    "max-past": "how far a time may lie behind the time of its row, such as 5 seconds, so that rows come out of order",
    "null-rate": "share of NULL, from 0 to 1",
    "seed": "of this column alone",
}
"""The options `fields.NAME.OPTION` of one column, with their meaning."""

KINDS = ("sequence", "random", "walk", "choice", "name", "time")

_RATE, _LENGTH, _STEPS = 10.0, 10, 100.0
_START = "2026-01-01 00:00:00"
_BITS = dict(zip(INTEGERS, (8, 16, 32, 64), strict=True))
_UNITS = {
    "microsecond": 1, "us": 1, "millisecond": 1_000, "ms": 1_000, "second": 1_000_000, "sec": 1_000_000, "s": 1_000_000,
    "minute": 60_000_000, "min": 60_000_000, "hour": 3_600_000_000, "h": 3_600_000_000, "day": 86_400_000_000,
    "d": 86_400_000_000,
}  # fmt: skip
NTZ, BOOLEAN, BINARY = (parse_type(name) for name in ("timestamp_ntz", "boolean", "binary"))
TIMES = (TIMESTAMP, NTZ, DATE)


@dataclass(frozen=True)
class Field:
    """How the values of a column are generated.

    base:     64 bits of its seed.
    low, high: of random and walk; None: no bound.
    start:    of sequence and walk; of time as text.
    step:     of walk; of time in microseconds, None: by the rate.
    past:     microseconds.
    """

    name: str
    type: Type
    kind: str
    base: int
    low: float | int | None = None
    high: float | int | None = None
    start: float | int | str | None = None
    step: float | None = None
    per: str | None = None
    values: tuple[str, ...] = ()
    length: int = _LENGTH
    past: int = 0
    null_rate: float = 0.0


@dataclass(frozen=True)
class Generator:
    """A generator of rows: `rows` in total, None for no end, and `rate` per second."""

    fields: tuple[Field, ...]
    rate: float
    rows: int | None


def generator(source: Source) -> Generator:
    """Return the generator of a source's rows.

    Raises ProgrammingError for unknown or wrong options, and for columns that datagen can't fill.
    """
    columns = [column for column in source.columns if column.expression is None]
    whole, own = _sorted_options(source, columns)
    rate = _number(source, "rows-per-second", whole.get("rows-per-second", str(_RATE)))
    if not 0 < rate <= 1e9:
        raise _wrong(source, "rows-per-second", "must be a number above zero")
    seed = _whole(source, "seed", whole.get("seed", "0"))
    fields, rows = [], None
    if "number-of-rows" in whole:
        rows = _whole(source, "number-of-rows", whole["number-of-rows"])
        if rows < 0:
            raise _wrong(source, "number-of-rows", "must be a whole number from zero on")
    for column in columns:
        field_options = own[column.name.lower()]
        field = _Maker(source, column, field_options, columns).field(seed)
        fields.append(field)
        if "end" in field_options:
            end = _whole(source, f"fields.{column.name}.end", field_options["end"])
            ended = max(0, end - int(field.start or 0) + 1)
            rows = ended if rows is None else min(rows, ended)
    if rows is None and not source.streaming:
        raise ProgrammingError(
            f"table {source.name} USING datagen needs the option number-of-rows",
            hint="OPTIONS ('number-of-rows' '1000'); CREATE STREAM may go on for ever",
        )
    return Generator(tuple(fields), rate, rows)


def check_fields(source: Source, span: Span) -> None:
    """Raise the errors of `generator` at `span`."""
    with at_place(span):
        generator(source)


def with_start(options: Iterable[tuple[str, str]], now: datetime.datetime) -> tuple[tuple[str, str], ...]:
    """Return options with a start 'now' replaced by the time, so that rows are always the same."""
    return tuple(
        (name, now.isoformat(" ", "seconds") if name.lower().endswith(".start") and value.lower() == "now" else value)
        for name, value in options
    )


def is_endless(source: Source) -> bool:
    """Tell whether a source generates rows without end."""
    return generator(source).rows is None


def _sorted_options(
    source: Source, columns: list[ColumnDefinition]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the options of the source itself, and those of each column by lower-case name."""
    whole: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {column.name.lower(): {} for column in columns}
    for name, value in source.options:
        low = name.lower()
        if low in OPTIONS:
            whole[low] = value
            continue
        column, _, option = low.removeprefix("fields.").rpartition(".")
        if not low.startswith("fields.") or not column:
            hint = suggestion(low, [*OPTIONS, "fields.NAME.kind"], "options")
            raise ProgrammingError(f"datagen has no option {name}", hint=hint)
        if column not in own:
            hint = suggestion(column, [each.name for each in columns], "columns that are not computed")
            raise ProgrammingError(f"the option {name} names a column that {source.name} does not read", hint=hint)
        if option not in FIELD_OPTIONS:
            raise ProgrammingError(
                f"a field of datagen has no option {option}", hint=suggestion(option, list(FIELD_OPTIONS), "options")
            )
        own[column][option] = value
    return whole, own


@dataclass(frozen=True)
class _Maker:
    """Creates the field of a column from its options."""

    source: Source
    column: ColumnDefinition
    options: dict[str, str]
    columns: list[ColumnDefinition]

    def field(self, seed: int) -> Field:
        kind_of = parse_type(self.column.type)
        whole, number = kind_of in INTEGERS, kind_of in (*INTEGERS, FLOAT, DOUBLE) or is_decimal(kind_of)
        if not (number or kind_of in (STRING, BOOLEAN, BINARY, *TIMES)):
            raise ProgrammingError(
                f"datagen cannot fill the column {self.column.name} {self.column.type}",
                hint=f"compute it from other columns: {self.column.name} {self.column.type} AS ...",
            )
        kind = self.options.get("kind", self._usual(kind_of)).lower()
        if kind not in KINDS:
            raise self._wrong(
                "kind", f"must be {', '.join(KINDS[:-1])} or {KINDS[-1]}", suggestion(kind, KINDS, "kinds")
            )
        fits = {
            "sequence": number or kind_of == STRING, "random": True, "walk": number, "choice": True,
            "name": kind_of == STRING, "time": kind_of in TIMES,
        }  # fmt: skip
        if not fits[kind]:
            raise self._wrong("kind", f"cannot be {kind} for the type {self.column.type}")
        if kind == "choice" and not self._values():
            raise self._wrong("values", "must list the values of choice, separated by commas: 'red, green'")
        low, high = self._bounds(kind_of, whole) if kind in ("random", "walk") and number else (None, None)
        null_rate = _number(self.source, self._name("null-rate"), self.options.get("null-rate", "0"))
        if not 0 <= null_rate <= 1:
            raise self._wrong("null-rate", "must be a number from 0 to 1")
        length = _whole(self.source, self._name("length"), self.options.get("length", str(_LENGTH)))
        if not 0 < length <= 10_000:
            raise self._wrong("length", "must be a whole number from 1 to 10000")
        own_seed = _whole(self.source, self._name("seed"), self.options.get("seed", str(seed)))
        base = int.from_bytes(hashlib.sha256(f"{own_seed} {self.column.name.lower()}".encode()).digest()[:8], "big")
        step = self._step(kind, low, high)
        return Field(
            self.column.name, kind_of, kind, base, low, high, self._start(kind, low, high), step, self._per(kind),
            self._values(), length, self._micros("max-past"), null_rate,
        )  # fmt: skip

    def _usual(self, kind: Type) -> str:
        if kind in TIMES:
            return "time"
        if "values" in self.options:
            return "choice"
        return "sequence" if "end" in self.options else "random"

    def _bounds(self, kind: Type, whole: bool) -> tuple[float | int | None, float | int | None]:
        read = _whole if whole else _number
        low, high = (
            read(self.source, self._name(name), self.options[name]) if name in self.options else None
            for name in ("min", "max")
        )
        walks = self.options.get("kind", "").lower() == "walk"
        if whole:
            least, greatest = -(1 << _BITS[kind] - 1), (1 << _BITS[kind] - 1) - 1
            low, high = (least if low is None else low), (greatest if high is None else high)
            if low < least or high > greatest:
                raise self._wrong("min" if low < least else "max", f"is beyond the values of {self.column.type}")
            if walks:
                low, high = low if "min" in self.options else None, high if "max" in self.options else None
        elif not walks:
            low = 0.0 if low is None else low
            high = low + 1.0 if high is None else high
        if low is not None and high is not None and low > high:
            raise self._wrong("min", f"is above max: {low} and {high}")
        return low, high

    def _start(self, kind: str, low: float | int | None, high: float | int | None) -> float | int | str | None:
        start = self.options.get("start")
        if kind == "sequence":
            return 1 if start is None else _whole(self.source, self._name("start"), start)
        if kind == "walk":
            if start is not None:
                return _number(self.source, self._name("start"), start)
            bounds = [bound for bound in (low, high) if bound is not None]
            return sum(bounds) / len(bounds) if bounds else _STEPS
        if parse_type(self.column.type) not in TIMES:
            return None
        try:
            datetime.datetime.fromisoformat(start or _START)
        except ValueError:
            raise self._wrong("start", "must be a time such as '2026-01-01 00:00:00', or 'now'") from None
        return start or _START

    def _step(self, kind: str, low: float | int | None, high: float | int | None) -> float | None:
        if kind != "walk":
            return self._micros("step") if "step" in self.options else None
        if "step" in self.options:
            return _number(self.source, self._name("step"), self.options["step"])
        return 1.0 if low is None or high is None else (high - low) / _STEPS

    def _per(self, kind: str) -> str | None:
        per = self.options.get("per")
        if per is None:
            return None
        others = [column.name for column in self.columns if column.name != self.column.name]
        if per.lower() not in map(str.lower, others) or kind != "walk":
            raise self._wrong("per", "must be another column, and is for a walk", suggestion(per, others, "columns"))
        return next(name for name in others if name.lower() == per.lower())

    def _values(self) -> tuple[str, ...]:
        return tuple(value.strip() for value in self.options.get("values", "").split(",") if value.strip())

    def _micros(self, option: str) -> int:
        text = self.options.get(option)
        if text is None:
            return 0
        match = re.fullmatch(r"(\d+(?:\.\d+)?) *([a-z]+)", text.strip().lower())
        unit = _UNITS.get(match[2], _UNITS.get(match[2].removesuffix("s"))) if match else None
        if match is None or unit is None:
            raise self._wrong(option, "must be a time such as '5 seconds'")
        return round(float(match[1]) * unit)

    def _name(self, option: str) -> str:
        return f"fields.{self.column.name}.{option}"

    def _wrong(self, option: str, what: str, hint: str | None = None) -> ProgrammingError:
        return _wrong(self.source, self._name(option), what, hint)


def _number(source: Source, option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise _wrong(source, option, f"must be a number, not '{text}'")
    return number


def _whole(source: Source, option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _wrong(source, option, f"must be a whole number, not '{text}'") from None


def _wrong(source: Source, option: str, what: str, hint: str | None = None) -> ProgrammingError:
    return ProgrammingError(f"the option {option} of {source.name} {what}", hint=hint)
