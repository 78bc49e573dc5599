"""Lines of CSV for columns are those of their values one by one, however the columns lie in memory."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.readers.scan.csv_text import csv_lines
from cepsql.scalar.zone import Zone

SECOND = 1_000_000
ZONES = [
    Zone(),
    Zone(offsets=(-12_600 * SECOND,)),
    # Local mean time until 1970.
    Zone(begins=(0,), offsets=(3_208 * SECOND, 7_200 * SECOND)),
]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
PLAIN = ["a", "é€😀", " x ", "null", "~", "a b"]
TEXTS = [*PLAIN, None, "", ",", "a,b", "#1", "1#"]
SPECIAL = ['"', "\\", "\n", "\r", "\t", "\0", "\x1f", "\x7f", 'say "no"']
INSTANTS = [
    None,
    datetime.datetime(1, 1, 2, tzinfo=datetime.UTC),
    datetime.datetime(1890, 5, 5, 1, 2, 3, 4, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 29, 1, tzinfo=datetime.UTC),
    datetime.datetime(2026, 7, 1, 12, 30, 0, 500_000, tzinfo=datetime.UTC),
    datetime.datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=datetime.UTC),
]


def text(value, begins):
    if value is None:
        return ""
    quoted = value == "" or "," in value or (begins and value.startswith("#"))
    return f'"{value}"' if quoted else value


def time(value, zone):
    if value is None:
        return ""
    instant = (value - EPOCH) // datetime.timedelta(microseconds=1)
    offset = zone.clock(instant) - instant
    # Python writes a zone as Spark does, but for UTC.
    local = value.astimezone(datetime.timezone(datetime.timedelta(microseconds=offset)))
    return local.isoformat(timespec="microseconds").replace("+00:00", "Z")


ROWS = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(INSTANTS), st.sampled_from(TEXTS)), min_size=1)
PLAIN_ROWS = st.lists(st.tuples(*[st.sampled_from(some) for some in (PLAIN, INSTANTS[3:5], PLAIN)]), min_size=1)


def batch(rows, before):
    """Return rows as columns that begin behind others in memory."""
    kinds = (pa.string(), pa.timestamp("us", "UTC"), pa.string())
    columns = zip(*before, *rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["a", "t", "b"]).slice(len(before))


@given(ROWS | PLAIN_ROWS, st.sampled_from([[], [('"', None, "\\")], [("x", None, None)] * 3]), st.sampled_from(ZONES))
def test_lines_are_those_of_values(rows, before, zone):
    expected = "".join(f"{text(a, True)},{time(at, zone)},{text(b, False)}\n" for a, at, b in rows)
    assert bytes(csv_lines(batch(rows, before), zone)).decode() == expected


@given(ROWS, st.sampled_from(SPECIAL), st.booleans(), st.randoms(use_true_random=False))
def test_what_spark_alone_writes_is_left_to_it(rows, special, first, chance):
    odd = (special, None, "b") if first else ("a", None, special)
    rows.insert(chance.randrange(len(rows) + 1), odd)
    assert csv_lines(batch(rows, []), Zone()) is None


@pytest.mark.parametrize("value", [None, ""])
def test_texts_without_any_bytes(value):
    rows = pa.RecordBatch.from_arrays([pa.array([value] * 2, pa.string())] * 2, names=["a", "b"])
    line = ",".join([text(value, False)] * 2) + "\n"
    assert bytes(csv_lines(rows, Zone())).decode() == line * 2
