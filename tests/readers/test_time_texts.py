"""Times that Arrow reads by the column are what the rules of Spark's casts say of each text."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.readers.scan.texts import text_values
from cepsql.scalar.times import parse_timestamp
from cepsql.scalar.types import TIMESTAMP
from cepsql.scalar.zone import Zone

HOUR = 3_600_000_000
SUMMER_2026 = (1_772_953_200_000_000, 1_793_512_800_000_000)
UTC, NEW_YORK = Zone((), (0,)), Zone(SUMMER_2026, (-5 * HOUR, -4 * HOUR, -5 * HOUR))
days = st.dates().map(str) | st.sampled_from(["2024-02-29", "2023-02-29", "0000-01-01", "2026-13-01", "2026-11-01"])
clocks = st.times().map(lambda at: at.isoformat("seconds")) | st.sampled_from(["01:30:00", "24:00:00", "23:59:60"])
fractions = st.text("0123456789", min_size=1, max_size=10).map(".{}".format) | st.sampled_from(["", "."])
offsets = st.sampled_from(
    ["", "", "Z", "z", "+00:00", "-00:30", "+05:45", "-17:59", "+18:00", "+18:30", "+1:00", " UTC"]
)
times = st.tuples(days, st.sampled_from("T "), clocks, fractions, offsets).map("".join)


@pytest.mark.parametrize("zone", [UTC, NEW_YORK])
@given(texts=st.lists(st.none() | times | st.sampled_from(["", "now", "2026-01-01"]), max_size=12))
def test_the_column_is_what_each_text_is(zone, texts):
    values, bad = text_values(pa.array(texts, pa.string()), TIMESTAMP, zone)
    expected = [None if text is None else parse_timestamp(text, zone) for text in texts]
    assert values.cast(pa.int64()).to_pylist() == expected
    assert bad.tolist() == [text is not None and value is None for text, value in zip(texts, expected, strict=True)]


def test_common_texts_are_not_read_one_by_one(monkeypatch):
    monkeypatch.setattr("cepsql.readers.scan.texts._read_odd", None)
    texts = ["2026-01-01T00:00:00Z", "2026-01-01 01:00:00.123456789", None, "2026-01-01T02:00:00.5+01:00"]
    values, bad = text_values(pa.array(texts), TIMESTAMP, NEW_YORK)
    midnight = np.datetime64("2026-01-01", "us").astype(int)
    expected = [midnight, midnight + 6 * HOUR + 123_456, None, midnight + HOUR + 500_000]
    assert values.cast(pa.int64()).to_pylist() == expected
    assert not bad.any()
