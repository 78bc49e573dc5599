"""What tells a row from all others of its partition, whatever the micro-batches were: the base of MATCH_ID()."""

import datetime
import hashlib
import struct
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.pattern.program import MatchId, MatchProgram
from cepsql.scalar.arrow.column_values import plain_values

ROW_ID = "i"
"""The mark column with the ids."""

_NAN = b"fnan"


def asks_for_id(program: MatchProgram) -> bool:
    """Tell whether a measure of the program is MATCH_ID()."""
    return any(isinstance(measure.source, MatchId) for measure in program.all_measures)


def with_row_ids(program: MatchProgram, rows: pa.Table) -> pa.Table:
    """Return ordered rows with the ids (16 bytes) of those whose ROW_ID is NULL filled in.

    An id is a hash of the keys, of the values of ORDER BY, and of the number of rows before that have the same; so all
    rows that have them must be among these. Such rows of a stream have one event time and are released together.
    """
    place = rows.column_names.index(ROW_ID)
    new = rows[ROW_ID].is_null()
    ids = pa.array(_ids(program, rows.filter(new)), pa.binary(16))
    return rows.set_column(
        place, ROW_ID, pc.replace_with_mask(rows[ROW_ID].combine_chunks(), new.combine_chunks(), ids)
    )


def _ids(program: MatchProgram, rows: pa.Table) -> list[bytes]:
    names = [*(column.name for column in program.keys), *program.id_columns]
    columns = plain_values(rows, dict.fromkeys(names))
    seen: Counter[bytes] = Counter()
    ids = []
    for values in zip(*(columns[name] for name in names), strict=True) if names else [()] * rows.num_rows:
        row = _list(values)
        ids.append(hashlib.blake2b(row + b"#%d" % seen[row], digest_size=16).digest())
        seen[row] += 1
    return ids


def _bytes(value: object) -> bytes:
    """Return bytes that are equal for equal values of one type only, however Python prints them."""
    match value:
        case None:
            return b"n"
        case bool():
            return b"1" if value else b"0"
        case int():
            return b"i%d" % value
        case float():
            return b"f" + struct.pack(">d", value) if value == value else _NAN
        case str():
            return _sized(b"s", value.encode("utf-8", "surrogatepass"))
        case bytes():
            return _sized(b"b", value)
        case Decimal():
            return _sized(b"d", str(value).encode())
        case datetime.datetime() | datetime.date():
            return _sized(b"t", value.isoformat().encode())
        case datetime.timedelta():
            return b"p%d" % (value.days * DAY + value.seconds * 1_000_000 + value.microseconds)
        case dict():
            return _list(value.values())
        case list() | tuple():
            return _list(value)
    return _sized(b"?", repr(value).encode())


def _sized(kind: bytes, data: bytes) -> bytes:
    return kind + b"%d:" % len(data) + data


def _list(values: Iterable[object]) -> bytes:
    return b"(" + b",".join(map(_bytes, values)) + b")"
