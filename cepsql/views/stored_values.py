"""Stored values as Arrow values of Spark's types."""

import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import FRACTIONS, TIMESTAMP, TIMESTAMP_NTZ, Type, is_decimal, parse_type

Reader = Callable[[Any], Any]

_PLAIN: dict[str, Reader] = {"tinyint": int, "smallint": int, "int": int, "bigint": int, "string": str, "boolean": bool,
                             "double": float}  # fmt: skip
"""Types whose values a store holds as they are, or as numbers and texts that convert to them."""

_INSTANT, _LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")


def column_values(cells: Sequence[Any], kind: str) -> pa.Array:
    """Return the values of a column of one of Spark's types; times with a zone are in UTC.

    >>> column_values(["2026-01-05 10:00:00.000000+00:00", None], "timestamp").type
    TimestampType(timestamp[us, tz=UTC])
    >>> column_values([0.1, 950], "decimal(8,2)").to_pylist()
    [Decimal('0.10'), Decimal('950.00')]
    """
    wanted = parse_type(kind)
    if is_decimal(wanted):
        return pa.array([_decimal(cell, wanted) for cell in cells], arrow_type(wanted))
    if wanted.name == "boolean":
        return pa.array([None if cell is None else bool(cell) for cell in cells], pa.bool_())
    if wanted in FRACTIONS:
        return pa.array([float(cell) if isinstance(cell, str) else cell for cell in cells], arrow_type(wanted))
    if wanted.name == "date":
        return _parsed(cells, pa.date32())
    if wanted in (TIMESTAMP, TIMESTAMP_NTZ):
        return _parsed(cells, _INSTANT if wanted == TIMESTAMP else _LOCAL)
    return pa.array(list(cells), pa.binary() if wanted.name == "binary" else arrow_type(wanted))


def stored_time(micros: int, kind: str, as_text: bool) -> Any:
    """Return the stored value of a time in microseconds since 1970, in a column of one of Spark's types.

    as_text: whether the store has times as text, as SQLite does.

    >>> stored_time(1_500_000, "timestamp", as_text=True)
    '1970-01-01 00:00:01.500000+00:00'
    """
    try:
        time = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=micros)
    except OverflowError:
        # A stream has no event times outside of Python's range.
        time = (datetime.datetime.max if micros > 0 else datetime.datetime.min).replace(tzinfo=datetime.UTC)
    wanted = parse_type(kind)
    if wanted.name == "date":
        return time.date().isoformat() if as_text else time.date()
    time = time if wanted == TIMESTAMP else time.replace(tzinfo=None)
    return time.isoformat(" ", "microseconds") if as_text else time


def plain_readers(kinds: Sequence[str]) -> tuple[Reader, ...] | None:
    """Return converters from SQLite values to Python values, None if a type needs more than a plain conversion.

    >>> plain_readers(["date"])
    """
    return tuple(_PLAIN[kind] for kind in kinds) if _PLAIN.keys() >= set(kinds) else None


def plain_rows(rows: Sequence[Sequence[Any]], readers: Sequence[Reader]) -> list[tuple]:
    """Return rows of SQLite as Python values.

    >>> plain_rows([(1, 0, 2)], plain_readers(["int", "boolean", "double"]))
    [(1, False, 2.0)]
    """
    return [
        tuple([None if cell is None else read(cell) for read, cell in zip(readers, row, strict=True)]) for row in rows
    ]


def cell_table(rows: Sequence[Sequence[Any]], columns: Sequence[tuple[str, str]]) -> pa.Table:
    """Return rows of a store as a table of columns with these names and Spark's types.

    Without columns, the rows are only counted.

    >>> cell_table([(1, 0)], [("n", "int"), ("is", "boolean")]).to_pylist()
    [{'n': 1, 'is': False}]
    >>> cell_table([(1,), (1,)], []).num_rows
    2
    """
    if not columns:
        return pa.table({"": pa.nulls(len(rows))})
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [column_values(values, kind) for values, (_, kind) in zip(cells, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def _decimal(cell: Any, kind: Type) -> decimal.Decimal | None:
    if cell is None:
        return None
    # The shortest text of a float restores any number of at most 15 digits.
    read = cell if isinstance(cell, decimal.Decimal) else decimal.Decimal(str(cell))
    with decimal.localcontext(prec=76):
        return read.quantize(decimal.Decimal(1).scaleb(-kind.scale))


def _parsed(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return dates or times, which are stored as text or as Python values."""
    if not any(isinstance(cell, str) for cell in cells):
        return pa.array(list(cells), kind)
    return pc.cast(pa.array(list(cells), pa.string()), kind)
