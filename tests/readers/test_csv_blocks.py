"""Whichever way a block of CSV is read, the rows are those of its lines one by one."""

from dataclasses import replace

from chance import draws, examples

from cepsql.ordered.arrival import ORIGIN, PLACE
from cepsql.readers.scan import blocks, csv, read
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.projection import ArrowScan, Projection
from cepsql.readers.scan.read import ListedFile, read_files
from cepsql.scalar.expressions import Apply, Input, Session
from cepsql.scalar.types import BIGINT, BOOLEAN, STRING, parse_type
from cepsql.scalar.zone import Zone

SIGNS = ('"', '"', '"', ",", ",", "\n", "\n", "x", "1", " ")
LAYOUTS = [FileLayout("csv", (("a", STRING), ("b", kind)), frozenset("ab")) for kind in (STRING, BIGINT)]


def values_of(chunk):
    return {name: column.to_pylist() for name, column in chunk.columns.items()}, chunk.rows, chunk.malformed


def test_quotes_and_line_feeds_anywhere():
    random = draws("csv blocks")
    fast = 0
    for _ in range(examples(500)):
        block = ("".join(random.choice(SIGNS) for _ in range(random.randint(1, 16))) + "\n").encode()
        for layout in LAYOUTS:
            expected = csv._from_texts(*csv._split_by_lines(block, layout), layout, Zone())
            assert values_of(csv._read_block(block, layout, Zone())) == values_of(expected), block
            fast += csv._splits_alike(block, layout) and csv._split_by_arrow(block, layout) is not None
    assert fast > 100


def test_files_that_are_read_together(tmp_path, monkeypatch):
    random = draws("csv files")
    monkeypatch.setattr(csv, "_TOGETHER", 40)
    together = 0
    for _ in range(examples(300)):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", random.choice((16, 2**20)))
        signs = random.choice((SIGNS, ("1", "x,", "\n", ",1\n"), ("x,1\n", "7,\n", ",\n")))
        paths = [tmp_path / str(number) for number in range(5)]
        for path in paths:
            path.write_text("".join(random.choice(signs) for _ in range(random.choice((0, 1, 3, 5, 30)))))
        layout = replace(random.choice(LAYOUTS), header=random.random() < 0.2)
        expected = [
            [values_of(chunk) for _, chunk in csv.read_csv_files([str(path)], layout, Zone())] for path in paths
        ]
        for apart in (False, True):
            chunks = list(csv.read_csv_files(map(str, paths), layout, Zone(), apart))
            assert [number for number, _ in chunks] == sorted(number for number, _ in chunks)
            if apart:
                mine = [[values_of(chunk) for number, chunk in chunks if number == at] for at in range(len(paths))]
                assert mine == expected
            else:
                assert added(values_of(chunk) for _, chunk in chunks) == added(
                    chunk for own in expected for chunk in own
                )
                together += len(chunks) < sum(map(bool, expected))
    assert together > 50


def test_rows_of_files_that_are_read_together_know_their_places(tmp_path):
    node = {name: Input(name, kind) for name, kind in (("a", STRING), ("b", BIGINT))}
    where = Apply("not", (Apply("isnull", (node["a"],), BOOLEAN),), BOOLEAN)
    made = Projection(Session(), where, (("k0", node["a"]), ("t", node["b"])), ())
    scan = ArrowScan(LAYOUTS[1], made, by_arrival=True)
    files = []
    for number, text in enumerate(("x,1\n,2\ny,3\n", "x,4\n", "", "z,5\ny,6\n")):
        (tmp_path / str(number)).write_text(text)
        files.append(ListedFile(f"file://{tmp_path / str(number)}", 10 * number))
    together = [row for batch in read_files(scan, 2, files) for row in batch.to_pylist()]
    assert together == [row for file in files for batch in read_files(scan, 2, [file]) for row in batch.to_pylist()]
    rows_with_places = [(row["k0"], row["t"], row[ORIGIN]["rank"], row[PLACE]) for row in together]
    assert rows_with_places == [("x", 1, 0, 0), ("y", 3, 0, 1), ("x", 4, 10, 0), ("z", 5, 30, 0), ("y", 6, 30, 1)]


def test_scans_that_read_files_together_have_their_own_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "PIECE_ROWS", 3)
    node = {name: Input(name, kind) for name, kind in (("a", STRING), ("b", BIGINT))}
    where = Apply("not", (Apply("isnull", (node["a"],), BOOLEAN),), BOOLEAN)
    made = [
        Projection(Session(), where, (("k0", node["a"]), ("t", node["b"])), ()),
        Projection(Session(), None, (("t", node["b"]),), ()),
        Projection(Session(), where, (("k0", node["a"]), ("t", node["b"])), ()),
    ]
    scans = [
        ArrowScan(replace(LAYOUTS[1], wanted=frozenset(wanted)), projection, by_arrival)
        for projection, wanted, by_arrival in zip(made, ("ab", "b", "ab"), (False, False, True), strict=True)
    ]
    files = []
    for number, text in enumerate(("x,1\n,2\ny,3\n", "x,4\nx\n", "", "z,5\ny,6\n")):
        (tmp_path / str(number)).write_text(text)
        files.append(ListedFile(f"file://{tmp_path / str(number)}", 10 * number))
    pieces = list(read.read_for_all(scans, 2, files))
    assert len(pieces) == 2
    for number, scan in enumerate(scans):
        together = [row for piece in pieces for batch in piece[number] for row in batch.to_pylist()]
        alone = [row for batch in read_files(scan, 2, files) for row in batch.to_pylist()]
        assert sorted(map(str, together)) == sorted(map(str, alone))
        assert sum(row["malformed"] for row in together) == 1


def added(chunks):
    columns, counts = {"a": [], "b": []}, [0, 0]
    for values, rows, malformed in chunks:
        columns = {name: columns[name] + values[name] for name in columns}
        counts = [counts[0] + rows, counts[1] + malformed]
    return columns, counts


def test_spaces_at_the_ends_of_values():
    random = draws("csv spaces")
    words = ("nan", "inf", "Infinity", "true", "FALSE", "final", "is", "a", "5", "5.", ".5", "-1", "0x1f", "-0X1f",
             "a0x1f", "10x1f", "1e5", "x-",
             "2020-01-01", "2020-01-01T00:00:00Z", "d,e", "5,x", "e-", "ÿ5", "5ÿ", "", " ")  # fmt: skip
    fast = 0
    for _ in range(examples(600)):
        kinds = [random.choice(("bigint", "double", "decimal(10,2)", "boolean", "date", "timestamp", "string"))
                 for _ in range(2)]  # fmt: skip
        layout = FileLayout("csv", (("a", parse_type(kinds[0])), ("b", STRING), ("c", parse_type(kinds[1]))),
                            frozenset("abc"))  # fmt: skip
        block = "".join(
            ",".join(spaced(random, random.choice(words if place == 1 or random.random() < 0.6 else ("", "7")))
                     for place in range(3)) + "\n"
            for _ in range(random.randint(1, 2))
        ).encode()  # fmt: skip
        expected = csv._from_texts(*csv._split_by_lines(block, layout), layout, Zone())
        assert values_of(csv._read_block(block, layout, Zone())) == values_of(expected), (kinds, block)
        fast += b" " in block and csv._splits_alike(block, layout) and not csv._leaves_doubt(block, layout)
    assert fast > 40


def test_decimals_however_they_are_written():
    random = draws("csv decimals")
    fast = 0
    for _ in range(examples(400)):
        precision = random.choice((1, 2, 5, 14, 15, 16, 22, 38))
        kind = parse_type(f"decimal({precision},{random.choice((0, 1, min(precision, 2), precision))})")
        layout = FileLayout("csv", (("a", kind), ("b", STRING)), frozenset(random.choice(("ab", "b", "a"))))
        texts = [written_decimal(random, kind) for _ in range(random.randint(1, 3))]
        block = "".join(f"{text},{random.choice(WORDS)}\n" for text in texts).encode()
        expected = csv._from_texts(*csv._split_by_lines(block, layout), layout, Zone())
        assert values_of(csv._read_block(block, layout, Zone())) == values_of(expected), (kind, block)
        fast += not csv._leaves_doubt(block, layout) and csv._typed(block, layout, Zone()) is not None
    assert fast > 100


WORDS = ("x", "", "3e-4f1a-89ab-0123456789ab", "1e-99", "e-12")


def written_decimal(random, kind):
    """Return a number that mostly fits a type, or nearly does."""
    units = random.choice((10**kind.precision - 1, random.randrange(10**kind.precision), random.randrange(100), 0))
    text = f"{'-' if random.random() < 0.2 else ''}{units // 10**kind.scale}"
    text += f".{units % 10**kind.scale:0{kind.scale}}" if kind.scale else ""
    odd = ("5", "49", "4999999999999999999", "e0", "e-1", "e-9", "e-12", "e-77", "e-700000000", "e1", "e700000000",
           "e99999999999999999999", "x")  # fmt: skip
    return random.choice(
        ("", "", text, text, text, text, text + random.choice(odd), random.choice((".", "nan", "inf")))
    )


def spaced(random, word):
    before, behind = (random.choice(("", "", "", " ", "\t", "  ")) for _ in range(2))
    value = f"{before}{word}{behind}"
    return f'"{value}"' if "," in value or random.random() < 0.2 else value


def test_a_number_of_thousands_of_digits_is_malformed():
    block = b"a," + b"9" * 5000 + b"\nb,1\n"
    assert values_of(csv._read_block(block, LAYOUTS[1], Zone())) == ({"a": ["b"], "b": [1]}, 1, 1)


def test_decimals_of_any_size():
    random = draws("csv decimals")
    kinds = [
        parse_type(f"decimal({p},{s})") for p, s in ((5, 2), (15, 2), (19, 19), (36, 2), (38, 0), (38, 2), (20, 19))
    ]
    fast = 0
    for _ in range(examples(700)):
        layout = FileLayout("csv", (("a", random.choice(kinds)), ("b", BIGINT)), frozenset("a"))
        whole, fraction = (digits(random, random.choice((0, 1, 2, 3, 17, 19, 36, 38, 40))) for _ in range(2))
        text = random.choice(("", "-", "+")) + whole + random.choice(("", ".", "." + fraction))
        text += random.choice(("", "", "", "E2", "e-2", "E38", "E-38", "E9999999999"))
        block = f"{text},1\n".encode()
        expected = csv._from_texts(*csv._split_by_lines(block, layout), layout, Zone())
        assert values_of(csv._read_block(block, layout, Zone())) == values_of(expected), (layout.columns, text)
        fast += csv._typed(block, layout, Zone()) is not None
    assert fast > 50


def digits(random, count):
    return "".join(random.choice("000123456789") for _ in range(count))
