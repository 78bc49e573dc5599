"""What Arrow reads of JSON lines is what Spark reads, line by line."""

import pytest
from chance import draws
from json_samples import TYPES, drawn_lines, fixed_lines
from values import plain, plain_sql, plain_values

from cepsql.catalog import Source
from cepsql.readers.scan import json
from cepsql.readers.scan.json import read_json
from cepsql.readers.scan.layout import FileLayout
from cepsql.scalar.types import parse_type
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.checked_lines import checked_options

LAYOUT = FileLayout("json", tuple((name, parse_type(type)) for name, type in TYPES.items()), frozenset(TYPES))
MARK = b'{"z":"line of its own"}'


def spark_rows(spark, folder):
    schema = ", ".join(f"{name} {type}" for name, type in TYPES.items())
    reader = spark.read.schema(f"{schema}, corrupt STRING").option("columnNameOfCorruptRecord", "corrupt")
    # Spark by itself takes no notice of what stands behind an object.
    reader = reader.options(**checked_options(spark, Source("s", (), "json")))
    frame = reader.json(str(folder)).selectExpr(*map(plain_sql, TYPES, TYPES.values()), "corrupt IS NOT NULL")
    return [(row[-1], [plain(value) for value in row[:-1]]) for row in frame.collect()]


def arrow_rows(path, zone):
    """Return the well-formed rows as Arrow reads them, and the number of malformed ones."""
    rows, malformed = [], 0
    for chunk in read_json(str(path), LAYOUT, zone):
        rows += map(list, zip(*(plain_values(chunk.columns[name]) for name in TYPES), strict=True))
        malformed += chunk.malformed
    return rows, malformed


def test_json(spark, tmp_path, monkeypatch):
    lines = [line for line in [*fixed_lines(), *drawn_lines(400, 0.1, 1), *drawn_lines(300, 0, 2)] if line != MARK]
    # Marks in between tell which rows a line has.
    (tmp_path / "all").mkdir()
    whole = tmp_path / "all" / "whole.json"
    draw = draws(3)
    ends = [b"\n", b"\r\n", b"\r", b"\n \n\n"]
    whole.write_bytes(b"\xef\xbb\xbf" + b"".join(part + draw.choice(ends) for line in lines for part in (MARK, line)))
    zone = session_zone(spark)
    expected = spark_rows(spark, whole.parent)
    well = [values for malformed, values in expected if not malformed]
    assert arrow_rows(whole, zone) == (well, len(expected) - len(well))
    mark = next(values for malformed, values in expected if not malformed)
    groups = []
    for malformed, values in expected:
        if values == mark and not malformed:
            groups.append(([], 0))
        else:
            rows, wrong = groups[-1]
            groups[-1] = ([*rows, values], wrong) if not malformed else (rows, wrong + 1)
    assert len(groups) == len(lines)
    by_arrow = 0
    for line, group in zip(lines, groups, strict=True):
        single = tmp_path / "single.json"
        # Without a line before it, the file's mark of the byte order would be taken away.
        single.write_bytes(b"\n" + line + b"\n")
        assert arrow_rows(single, zone) == group, line
        if line:
            chunk = json.objects_by_arrow(line + b"\n", LAYOUT, zone)
            by_arrow += chunk is not None
            if chunk is not None:
                read_rows = list(map(list, zip(*(plain_values(chunk.columns[name]) for name in TYPES), strict=True)))
                assert (read_rows, chunk.malformed) == group, line
    assert by_arrow > 100


@pytest.mark.parametrize("text", [b'{"i":1}{"i":2}\n{"i":\n3}\n', b'{"i":\n1}\n', b'{"i":1}\n\n{"i":2}\n'])
def test_arrow_takes_one_object_a_line_only(text):
    assert json.objects_by_arrow(text, LAYOUT, None) is None
