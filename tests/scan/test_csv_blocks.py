"""Whichever way a block of CSV is read, the rows are those of its lines one by one."""

from chance import draws, examples

from cepsql.readers.scan import csv
from cepsql.readers.scan.layout import FileLayout
from cepsql.scalar.types import BIGINT, STRING
from cepsql.scalar.zone import Zone

SIGNS = ('"', '"', '"', ",", ",", "\n", "\n", "x", "1", " ")
LAYOUTS = [FileLayout("csv", (("a", STRING), ("b", kind)), frozenset("ab")) for kind in (STRING, BIGINT)]


def found(chunk):
    return {name: column.to_pylist() for name, column in chunk.columns.items()}, chunk.rows, chunk.malformed


def test_quotes_and_line_feeds_anywhere():
    random = draws("csv blocks")
    fast = 0
    for _ in range(examples(500)):
        block = ("".join(random.choice(SIGNS) for _ in range(random.randint(1, 16))) + "\n").encode()
        for layout in LAYOUTS:
            expected = csv._from_texts(*csv._split_by_lines(block, layout), layout, Zone())
            assert found(csv._read_block(block, layout, Zone())) == found(expected), block
            fast += csv._splits_alike(block, layout) and csv._split_by_arrow(block, layout) is not None
    assert fast > 100


def test_a_number_of_thousands_of_digits_is_malformed():
    block = b"a," + b"9" * 5000 + b"\nb,1\n"
    assert found(csv._read_block(block, LAYOUTS[1], Zone())) == ({"a": ["b"], "b": [1]}, 1, 1)
