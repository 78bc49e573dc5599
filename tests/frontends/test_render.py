"""Rendering: files of expected text, and what must hold for any values."""

import csv
import datetime
import io
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.base.output_formats import FORMATS
from cepsql.errors import InterfaceError
from cepsql.render import renderer
from cepsql.render.table import cell_width

DATA = Path(__file__).parent / "render"

DAY = datetime.datetime(2026, 3, 29, 0, 59, 59, 500_000)
BEFORE_SUMMER = 1_774_745_999_500_000
SPAN = datetime.timedelta(hours=30, milliseconds=10)
SMALL = Decimal("0.0000000001")
INSTANT = pa.timestamp("us", "UTC")
STRUCT = pa.struct({"a": pa.int32(), "t": INSTANT})
# Milliseconds taken for seconds, and the last and the first times that UTC shows in years from 1 to 9999.
FAR = [1_772_442_000_000_000_000, 253_402_300_799_500_000, -62_135_596_800_000_000, -62_135_596_800_000_001]
VALUES = {
    "text": ("string", pa.array(["a", "", None, 'say "hi", twice', "two\nlines\t", "日本", " padded ", "NULL"])),
    "numbers": ("bigint", pa.array([1, -20, None, 2**63 - 1])),
    "float": ("float", pa.array([0.1, None, 1e20, float("nan")], pa.float32())),
    "double": ("double", pa.array([1.0, 0.1, 1e300, float("inf"), float("-inf"), None])),
    "decimal": ("decimal(20,10)", pa.array([SMALL, Decimal("-1234567890.5"), None], pa.decimal128(20, 10))),
    "boolean": ("boolean", pa.array([True, False, None])),
    "day": ("date", pa.array([datetime.date(2026, 3, 29), None])),
    "zoned": ("timestamp", pa.array([0, BEFORE_SUMMER, BEFORE_SUMMER + 500_000, 1, -1, None], INSTANT)),
    "unzoned": ("timestamp_ntz", pa.array([DAY, DAY.replace(microsecond=0), None])),
    "binary": ("binary", pa.array([b"ab", b"", None])),
    "interval": ("interval day to second", pa.array([-SPAN, SPAN, None])),
    "list": ("array<double>", pa.array([[1.5, None], [], None])),
    "struct": ("struct<a:int,t:timestamp>", pa.array([{"a": 1, "t": DAY}, None], STRUCT)),
    "map": ("map<string,binary>", pa.array([[("k", b"v")], None], pa.map_(pa.string(), pa.binary()))),
    "int_map": ("map<int,int>", pa.array([[(1, 2), (3, None)]], pa.map_(pa.int32(), pa.int32()))),
    "nothing": ("void", pa.nulls(1)),
    "far": ("timestamp", pa.array([*FAR, None, 1], INSTANT)),
    "far_unzoned": ("timestamp_ntz", pa.array([FAR[0]], pa.timestamp("us"))),
    "far_day": ("date", pa.array([-719_529, 20_513_674, None, 1], pa.int32()).cast(pa.date32())),
    "far_list": ("array<timestamp>", pa.array([[FAR[0], None], None, [FAR[2], 1]], pa.list_(INSTANT))),
}  # fmt: skip


def render(format, columns, rows, zone="UTC", fit=True) -> str:
    form = renderer(format, columns, zone, rows if fit else None)
    return "".join(f"{line}\n" for line in (*form.header, *form.rows(rows)))


@pytest.mark.parametrize("name", VALUES)
def test_values_of_each_type(name, update):
    kind, values = VALUES[name]
    rows = pa.table({name: values})
    text = "\n".join(f"-- {f}\n{render(f, [(name, kind)], rows, 'Europe/Paris')}" for f in FORMATS)
    path = DATA / f"{name}.txt"
    if update:
        path.write_text(text)
    assert text == path.read_text()


COLUMNS = [("sym", "string"), ("n", "int"), ("a long name", "boolean"), ("price", "decimal(6,2)")]


def test_a_stream_is_laid_out_before_its_rows(update):
    batches = [
        pa.table(
            {"sym": ["a", "longer than its column"], "n": [1, 2], "c": [True, None], "p": [Decimal("1.25"), None]}
        ),
        pa.table({"sym": ["b"], "n": [3], "c": [False], "p": [Decimal("1234567.25")]}),
    ]
    form = renderer("table", COLUMNS)
    text = "\n".join([*form.header, *(line for batch in batches for line in form.rows(batch))]) + "\n"
    path = DATA / "stream.txt"
    if update:
        path.write_text(text)
    assert text == path.read_text()


def without_check(values: list[bytes]) -> pa.Array:
    """Return text of any bytes, as Spark gives it."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values).buffers())


@pytest.mark.parametrize(
    ("format", "written"),
    [("json", '{"t":"a\ufffd","l":["b\ufffd"]}'), ("csv", 'a\ufffd,"[""b\ufffd""]"'), ("table", None)],
)
def test_bytes_that_are_no_text_are_marked(format, written):
    lists = pa.ListArray.from_arrays([0, 1], without_check([b"b\xfe"]))
    rows = pa.table({"t": without_check([b"a\xff"]), "l": lists})
    form = renderer(format, [("t", "string"), ("l", "array<string>")], result=rows)
    (line,) = form.rows(rows)
    assert line == written or (written is None and "a\ufffd" in line and "b\ufffd" in line)


def test_an_unknown_format_is_refused():
    with pytest.raises(InterfaceError, match="no output format xml"):
        renderer("xml", COLUMNS)


@pytest.mark.parametrize(("zone", "written"), [("GMT+8", "08:00:00"), ("-03:30", "20:30:00"), ("Z", "00:00:00")])
def test_zones_as_spark_names_them(zone, written):
    rows = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))})
    assert render("csv", [("t", "timestamp")], rows, zone).split()[2] == written
    stamp = json.loads(render("json", [("t", "timestamp")], rows, zone))["t"]
    assert datetime.datetime.fromisoformat(stamp).timestamp() == 0
    assert written in stamp


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp", "Mn", "Me", "Mc")), max_size=6)
TEXT_ROWS = st.lists(st.tuples(st.none() | TEXTS, st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=5)


def as_table(rows) -> pa.Table:
    return pa.table({"s": pa.array([s for s, _ in rows], pa.string()), "n": pa.array([n for _, n in rows], pa.int64())})


@given(TEXT_ROWS)
def test_csv_reads_back(rows):
    text = render("csv", [("s", "string"), ("n", "bigint")], as_table(rows))
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert read == [["s", "n"], *([s or "", "" if n is None else str(n)] for s, n in rows)]
    # What a reader that knows quotes sees: NULL is bare, the empty string is not.
    for (s, _), line in zip(rows, text.split("\n")[1:], strict=False):
        assert line.startswith(",") == (s is None)


@given(TEXT_ROWS)
def test_json_reads_back(rows):
    lines = render("json", [("s", "string"), ("n", "bigint")], as_table(rows)).split("\n")[:-1]
    assert [json.loads(line) for line in lines] == [{"s": s, "n": n} for s, n in rows]


NO_BAR = st.from_regex(r"[a-z0-9 \"',.é日€]{0,6}", fullmatch=True)


@given(
    st.lists(st.tuples(st.none() | NO_BAR, st.none() | st.integers(-99, 99), st.booleans()), min_size=1, max_size=5),
    st.booleans(),
)
def test_table_and_csv_agree_cell_for_cell(rows, fit):
    names = [("s", "string"), ("n", "int"), ("b", "boolean")]
    table = pa.table({name: [row[i] for row in rows] for i, (name, _) in enumerate(names)}).cast(
        pa.schema({"s": pa.string(), "n": pa.int32(), "b": pa.bool_()})
    )
    drawn = [
        [cell.strip() for cell in line.split("|")] for line in render("table", names, table, fit=fit).split("\n")[2:-1]
    ]
    read = list(csv.reader(io.StringIO(render("csv", names, table))))[1:]
    shown = [
        ["NULL" if value is None else text.strip() for value, text in zip(*pair, strict=True)]
        for pair in zip(rows, read, strict=True)
    ]
    assert drawn == shown


@given(st.lists(st.tuples(NO_BAR, st.integers()), min_size=1, max_size=5))
def test_bars_stand_below_each_other(rows):
    table = pa.table({"s": [s for s, _ in rows], "n": pa.array([str(n) for _, n in rows])})
    lines = render("table", [("s", "string"), ("n", "int")], table).split("\n")[:-1]
    bars = {
        cell_width(line[: line.index(mark)]) for line, mark in zip(lines, ["|", "+", *"|" * len(rows)], strict=True)
    }
    assert len(bars) == 1


def test_a_line_is_cut_to_the_screen():
    columns = [("name", "string"), ("n", "bigint"), ("日本", "string")]
    rows = pa.table({"name": ["a" * 40, "b"], "n": [1, 2**60], "日本": ["日本" * 9, None]})
    for room in (30, 40, 60):
        form = renderer("table", columns, result=None, room=room)
        lines = [*form.header, *form.rows(rows)]
        assert max(map(cell_width, lines)) <= room, lines
    assert "…" in lines[2]
    whole = renderer("table", columns, result=rows, room=200)
    assert "…" not in "".join(whole.rows(rows))
