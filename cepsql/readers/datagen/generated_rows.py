"""The rows of a generator, as Arrow columns: the n-th row depends on n and the seeds alone."""

import datetime
import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.readers.datagen.fields import BINARY, BOOLEAN, NTZ, Field, Generator
from cepsql.scalar.types import DATE, DOUBLE, FLOAT, INTEGERS, STRING, TIMESTAMP, Type, is_decimal
from cepsql.scalar.zone import Zone

BATCH = 1 << 16
"""How many rows are generated at once."""

NAMES = (
    "Ada", "Amir", "Ana", "Ben", "Bo", "Carla", "Chen", "Clara", "Dan", "Dara", "Eli", "Emma", "Eva", "Fatima", "Finn",
    "Grace", "Hana", "Hugo", "Ida", "Imani", "Ines", "Ivan", "Jana", "Jin", "Jonas", "Kai", "Kofi", "Lara", "Leo",
    "Lina", "Luca", "Maya", "Mei", "Mila", "Mona", "Nia", "Nils", "Nora", "Olga", "Omar", "Otto", "Paul", "Priya",
    "Quinn", "Rana", "Ravi", "Rosa", "Sam", "Sara", "Sven", "Tara", "Tom", "Uma", "Vera", "Viktor",
    "Wen", "Yara", "Yuki", "Zara", "Zoe",
)  # fmt: skip

_GOLDEN, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SIGNS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)
_SIGNS_OF_A_WORD = 12
_LEVELS = 32
"""A walk repeats after two to the power of this number of rows."""

_VALUE, _NULL, _PAST = (np.uint64(n) for n in (1, 2, 3))
_ARROW = {
    **dict(zip(INTEGERS, (pa.int8(), pa.int16(), pa.int32(), pa.int64()), strict=True)),
    FLOAT: pa.float32(), DOUBLE: pa.float64(), STRING: pa.string(), BOOLEAN: pa.bool_(), BINARY: pa.binary(),
    DATE: pa.date32(), NTZ: pa.timestamp("us"), TIMESTAMP: pa.timestamp("us", "UTC"),
}  # fmt: skip


def rows(generator: Generator, begin: int, end: int, zone: Zone) -> Iterator[pa.RecordBatch]:
    """Yield the rows from number `begin` up to, without, number `end`; the first row has number 0.

    zone: for times without zone.
    """
    for at in range(begin, end, BATCH):
        numbers = np.arange(at, min(at + BATCH, end), dtype=np.uint64)
        made: dict[str, pa.Array] = {}
        # The column of a walk's `per` comes first.
        for field in sorted(generator.fields, key=lambda field: field.per is not None):
            made[field.name] = _column(field, numbers, generator.rate, zone, made)
        names = [field.name for field in generator.fields]
        yield pa.RecordBatch.from_arrays([made[name] for name in names], names=names)


def _column(field: Field, numbers: np.ndarray, rate: float, zone: Zone, made: dict[str, pa.Array]) -> pa.Array:
    values = _values(field, numbers, rate, zone, made)
    if not field.null_rate:
        return values
    missing = pa.array(_share(_bits(field.base, _NULL, numbers)) < field.null_rate)
    return pc.if_else(missing, pa.scalar(None, values.type), values)


def _values(field: Field, numbers: np.ndarray, rate: float, zone: Zone, made: dict[str, pa.Array]) -> pa.Array:
    bits = _bits(field.base, _VALUE, numbers)
    match field.kind:
        case "sequence":
            counted = pa.array(numbers.astype(np.int64) + int(field.start or 0))
            return counted.cast(_arrow(field.type))
        case "choice":
            return pa.array(field.values).cast(_arrow(field.type)).take(pa.array(bits % np.uint64(len(field.values))))
        case "name":
            return pa.array(NAMES).take(pa.array(bits % np.uint64(len(NAMES))))
        case "walk":
            return _numbers(field, _walk(field, numbers, made))
    if field.type in (DATE, NTZ, TIMESTAMP):
        return _times(field, numbers, rate, zone)
    return _random(field, bits, numbers)


def _random(field: Field, bits: np.ndarray, numbers: np.ndarray) -> pa.Array:
    if field.type == BOOLEAN:
        return pa.array((bits & np.uint64(1)).astype(bool))
    if field.type in (STRING, BINARY):
        words = -(-field.length // _SIGNS_OF_A_WORD)
        signs = np.empty((len(numbers), words * _SIGNS_OF_A_WORD), np.uint8)
        for word in range(words):
            drawn = _bits(field.base, _VALUE + np.uint64(16 + word), numbers)
            for place in range(_SIGNS_OF_A_WORD):
                shifted = drawn >> np.uint64(5 * place)
                signs[:, word * _SIGNS_OF_A_WORD + place] = _SIGNS[(shifted & np.uint64(31)).astype(np.intp)]
        text = np.ascontiguousarray(signs[:, : field.length]).view(f"S{field.length}").ravel()
        return pa.array(text.tolist(), pa.binary()).cast(_arrow(field.type))
    assert field.low is not None and field.high is not None
    if field.type in INTEGERS:
        width = int(field.high) - int(field.low) + 1
        drawn = bits if width == 1 << 64 else bits % np.uint64(width)
        # 64-bit sums wrap around.
        return pa.array((drawn + np.uint64(int(field.low) % (1 << 64))).view(np.int64)).cast(_arrow(field.type))
    return _numbers(field, field.low + _share(bits) * (field.high - field.low))


def _walk(field: Field, numbers: np.ndarray, made: dict[str, pa.Array]) -> np.ndarray:
    """Return a random walk at some steps: each level moves the midpoint between two steps of the level above."""
    base = np.full(len(numbers), np.uint64(field.base))
    if field.per is not None:
        base ^= _hashes(made[field.per])
    moved = np.zeros(len(numbers))
    for level in range(1, _LEVELS + 1):
        length = np.uint64(1 << level)
        phase = (numbers % length).astype(np.float64) / float(length)
        drawn = _bits(base, np.uint64(100 + level), numbers >> np.uint64(level))
        moved += np.sqrt(float(length)) / 2 * (1 - np.abs(2 * phase - 1)) * _normal(drawn)
    return _between(float(field.start or 0) + (field.step or 0) * moved, field.low, field.high)


def _between(values: np.ndarray, low: float | int | None, high: float | int | None) -> np.ndarray:
    """Return values within bounds, reflected at the bounds."""
    if low is not None and high is not None:
        width = float(high - low)
        return values * 0 + low if not width else low + width - np.abs((values - low) % (2 * width) - width)
    if low is not None:
        return low + np.abs(values - low)
    return values if high is None else high - np.abs(high - values)


def _times(field: Field, numbers: np.ndarray, rate: float, zone: Zone) -> pa.Array:
    start = datetime.datetime.fromisoformat(str(field.start))
    local = start.tzinfo is None and field.type == TIMESTAMP
    shown = start.replace(tzinfo=None) if start.tzinfo is None or field.type != TIMESTAMP else start
    epoch = datetime.datetime(1970, 1, 1, tzinfo=shown.tzinfo and datetime.UTC)
    first = (shown - epoch) // datetime.timedelta(microseconds=1)
    first = zone.instant(first) if local else first
    # Rates are not whole numbers of microseconds, so this avoids accumulated errors.
    passed = numbers.astype(np.int64) * int(field.step) if field.step else np.floor(numbers * (1_000_000 / rate))
    micros = first + passed.astype(np.int64)
    if field.past:
        micros -= np.floor(_share(_bits(field.base, _PAST, numbers)) * (field.past + 1)).astype(np.int64)
    if field.type == DATE:
        return pa.array(np.floor_divide(micros, 86_400_000_000).astype(np.int32)).cast(pa.date32())
    return pa.array(micros).cast(_arrow(field.type))


def _numbers(field: Field, values: np.ndarray) -> pa.Array:
    if field.type in INTEGERS:
        return pa.array(np.rint(values).astype(np.int64)).cast(_arrow(field.type))
    if is_decimal(field.type):
        return pa.array(np.round(values, field.type.scale)).cast(_arrow(field.type))
    return pa.array(values).cast(_arrow(field.type))


def _arrow(kind: Type) -> pa.DataType:
    return pa.decimal128(kind.precision, kind.scale) if is_decimal(kind) else _ARROW[kind]


def _bits(base: int | np.ndarray, purpose: np.uint64, numbers: np.ndarray) -> np.ndarray:
    """Return 64 random bits for each number."""
    with np.errstate(over="ignore"):
        seeds = _mixed(np.asarray(base, np.uint64) + purpose * _GOLDEN)
        return _mixed(seeds + (numbers + np.uint64(1)) * _GOLDEN)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Return bits that each depend on all input bits: the last step of SplitMix64."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
        return bits ^ (bits >> np.uint64(31))


def _share(bits: np.ndarray) -> np.ndarray:
    """Return numbers from 0 up to, without, 1."""
    return (bits >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def _normal(bits: np.ndarray) -> np.ndarray:
    """Return approximately normally distributed numbers of mean 0 and deviation 1: sums of four uniform ones."""
    parts = [((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64) / 0xFFFF for shift in (0, 16, 32, 48)]
    return (sum(parts) - 2) * np.sqrt(3)


def _hashes(values: pa.Array) -> np.ndarray:
    """Return a 64-bit hash of each value."""
    coded = values.cast(pa.string()).dictionary_encode(null_encoding="encode")
    digests = [hashlib.sha256(repr(value).encode()).digest()[:8] for value in coded.dictionary.to_pylist()]
    hashes = np.array([int.from_bytes(digest, "big") for digest in digests], np.uint64)
    return hashes[coded.indices.to_numpy(zero_copy_only=False).astype(np.intp)]
