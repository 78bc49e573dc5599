"""Files of lines in blocks, whatever they are compressed with."""

import bz2
import gzip
import zlib

import pyarrow as pa
import pytest

from cepsql.errors import OperationalError
from cepsql.scan import blocks
from cepsql.scan.csv_line import split_line
from cepsql.scan.damaged import WHOLE_FILE

TEXT = b"\xef\xbb\xbfa,b\n1,2\r\na longer line,5\r\rx"
FORMS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".deflate": zlib.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_blocks_are_whole_lines(tmp_path, monkeypatch, suffix, size):
    path = tmp_path / f"rows.csv{suffix}"
    path.write_bytes(FORMS[suffix](TEXT))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    found = list(blocks.line_blocks(str(path)))
    assert b"".join(found) == b"a,b\n1,2\na longer line,5\n\nx\n"
    assert all(block.endswith(b"\n") for block in found)


@pytest.mark.parametrize("name", ["missing.csv", "broken.csv.gz", "rows.csv.lz4"])
def test_files_that_cannot_be_read_are_named(tmp_path, name):
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(OperationalError, match=name) as caught:
        list(blocks.line_blocks(str(tmp_path / name)))
    assert (caught.value.hint == WHOLE_FILE) == name.startswith("broken")


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("a,,b", ["a", "", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        (r'"a\"b","c\\"', ['a"b', "c\\"]),
        ('"a""b",c', ['"a""b"', "c"]),
        ('"a"b,c', ['"a"b', "c"]),
        ('"a" ,c', ["a", "c"]),
        ('a"b,"c', ['a"b', "c"]),
        ('a,"', ["a", '"']),
        ('"a",', ["a", ""]),
    ],
)
def test_quotes_as_spark_takes_them(line, values):
    assert split_line(line, ",") == values
