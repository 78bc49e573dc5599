"""Files of other encodings than UTF-8 have the rows that they have in it, as tables and as streams."""

import pytest

from cepsql import connect

TEXT = "k,n\r\na\u00e9,1\r\nb\u00fc,2\r\n\u00e7,x\r\n"
LINES = '{"k": "a\u00e9", "n": 1}\n{"k": "b\u00fc", "n": 2}\n{"k": "\u00e7", "n": "x"}\n'
ROWS = [{"k": "a\u00e9", "n": 1}, {"k": "b\u00fc", "n": 2}]


@pytest.fixture
def engine(spark):
    with connect(spark) as connected:
        yield connected


def read(engine, path, format, options):
    """Return the rows of a table and of a stream, and how many were malformed."""
    declared = f"(k STRING, n INT) USING {format} OPTIONS (path '{path}', {options})"
    engine.sql(f"CREATE OR REPLACE TABLE t {declared}")
    engine.sql(f"CREATE OR REPLACE STREAM s {declared}")
    query, rows = engine.query("SELECT * FROM t"), []
    table = query.arrow().to_pylist()
    with engine.query("SELECT * FROM s").start(lambda b, _: rows.extend(b.to_pylist()), drain=True) as running:
        running.await_()
    return (table, query.malformed), (rows, running.progress.rows_malformed)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("UTF-16", b"\xff\xfe" + TEXT.encode("utf-16-le")),
        ("UTF-16", b"\xfe\xff" + TEXT.encode("utf-16-be")),
        ("utf16le", TEXT.encode("utf-16-le")),
        ("UTF-16BE", TEXT.encode("utf-16-be")),
        ("UTF-32", TEXT.encode("utf-32")),
        ("Latin-1", TEXT.encode("latin-1")),
        ("UTF-8", b"\xef\xbb\xbf" + TEXT.encode()),
    ],
)
def test_csv(engine, tmp_path, encoding, content):
    (tmp_path / "1.csv").write_bytes(content)
    assert read(engine, tmp_path, "csv", f"header 'true', encoding '{encoding}'") == ((ROWS, 1), (ROWS, 1))


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "ISO-8859-1", "UTF-8"])
def test_json(engine, tmp_path, encoding):
    (tmp_path / "1.json").write_bytes(LINES.encode(encoding))
    assert read(engine, tmp_path, "json", f"charset '{encoding}'") == ((ROWS, 1), (ROWS, 1))
