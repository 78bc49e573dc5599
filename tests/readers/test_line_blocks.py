"""Files of lines in blocks, whatever they are compressed with."""

import bz2
import gzip
import tracemalloc
import zlib

import pyarrow as pa
import pytest
from chance import everyday

from cepsql.errors import OperationalError
from cepsql.readers.scan import blocks
from cepsql.readers.scan.csv_line import split_line
from cepsql.readers.scan.damaged import WHOLE_FILE
from cepsql.readers.scan.long_lines import LONG_LINE

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
    read_blocks = list(blocks.line_blocks(str(path)))
    assert b"".join(read_blocks) == b"a,b\n1,2\na longer line,5\n\nx\n"
    assert all(block.endswith(b"\n") for block in read_blocks)


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


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_that_is_too_long_is_a_mark(tmp_path, monkeypatch, suffix, size, end):
    lines = [b"a,b", b"x" * 500, b"y" * 64, b"", b"z" * 65, b"1,2", b"w" * 300]
    path = tmp_path / f"rows.csv{suffix}"
    path.write_bytes(FORMS[suffix](end.join(lines)))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    read_lines = b"".join(blocks.line_blocks(str(path), 64)).split(b"\n")
    mark = LONG_LINE.encode()
    assert [line for line in read_lines if line] == [b"a,b", mark, b"y" * 64, mark, b"1,2", mark]


@pytest.mark.parametrize("suffix", everyday([".gz", ".bz2", ".deflate", ".zst"]))
def test_of_a_line_that_is_too_long_little_is_held(tmp_path, suffix):
    path = tmp_path / f"rows.csv{suffix}"
    path.write_bytes(FORMS[suffix](b"a,b\n" + bytes(100 * 2**20) + b"\n1,2\n"))
    tracemalloc.start()
    content = b"".join(blocks.line_blocks(str(path), 2**20))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert content == f"a,b\n{LONG_LINE}\n1,2\n".encode()
    assert most < 40 * 2**20


def test_a_file_in_zlibs_format_is_not_whole(tmp_path):
    path = tmp_path / "rows.csv.deflate"
    path.write_bytes(zlib.compress(TEXT * 100)[:-5])
    with pytest.raises(OperationalError, match=r"rows\.csv\.deflate cannot be read") as caught:
        list(blocks.line_blocks(str(path)))
    assert caught.value.hint == WHOLE_FILE
