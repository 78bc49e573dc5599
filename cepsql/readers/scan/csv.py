"""CSV as Spark reads it: fast where Arrow's reader agrees with Spark's, value by value elsewhere."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cepsql.readers.scan.blocks import Block, line_blocks
from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.csv_line import split_line
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.texts import at_zone, text_values
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import INTEGERS, STRING, TIMESTAMP, Type, is_decimal
from cepsql.scalar.zone import Zone

_BLANK = bytes(range(33))
_QUOTE, _LINE_FEED = ord('"'), ord("\n")
_PIECE = 2**17
"""How many bytes are compared at a time, so that all intermediate results fit the processor's cache."""
_TOGETHER = 2**20
"""How many bytes of small files are read together."""
_SMALL = 0x20
"""The bit that an ASCII lower-case letter has and an upper-case letter lacks."""
_QUOTED = re.compile(rb'"[^"]*("|$)')
_MOST_DIGITS = 38
"""The maximum number of digits of a DECIMAL."""
_EXACT_DIGITS = 15
"""Up to how many digits a DECIMAL is read as the nearest DOUBLE, which is never half a unit away."""
_NEAR = 0.25
"""How many units a DOUBLE may be away from a whole number of units and still be rounded like its text."""
_VAST_EXPONENT, _LONG_EXPONENT = 9, 20
"""From how many digits on Java does not read all exponents, and how many digits of an exponent are checked."""
_MANY_EXPONENTS = 2_000
"""From how many exponents on their check takes longer than reading the block value by value."""
_NOWHERE = np.zeros(0, np.intp)
_NUMERIC, _POINT = 27, 28


def _kinds_of_bytes() -> np.ndarray:
    """Return the kind of each byte: the number of a letter in any case, from 1, its role at an end of a value, or 0."""
    kinds = np.zeros(256, np.uint8)
    kinds[list(b'0123456789+- \t\n"')], kinds[ord(".")] = _NUMERIC, _POINT
    for number, letter in enumerate(ascii_lowercase, 1):
        kinds[list(f"{letter}{letter.upper()}".encode())] = number
    return kinds


def _doubted_ends() -> np.ndarray:
    """Return whether Arrow may read a value as number or BOOLEAN, by the kinds of its first or last three bytes."""
    doubted = np.zeros((29, 29, 29), bool)
    doubted[_NUMERIC], doubted[_POINT, _NUMERIC] = True, True
    for word in (b"nan", b"inf", b"infinity", b"true", b"false"):
        for end in (word[:3], word[:-4:-1]):
            doubted[tuple(_KINDS[list(end)])] = True
    return doubted


_KINDS = _kinds_of_bytes()
_IS_DOUBTED = _doubted_ends()


def read_csv_files(
    paths: Iterable[str], layout: FileLayout, zone: Zone, apart: bool = False
) -> Iterator[tuple[int, Chunk]]:
    """Yield the rows of files, about a hundred thousand at a time, with the number of the path of the first row.

    A row is malformed if Spark's reader in PERMISSIVE mode, reading all columns, returns a corrupt record: it has too
    few or too many values, or a value that is not of its column's type.
    apart: no chunk has rows of two files; otherwise small files are read together.
    Raises OperationalError if a file cannot be read.
    """
    small, size = list[_SmallFile](), 0
    for number, path in enumerate(paths):
        blocks = line_blocks(path, layout.longest)
        first = next(blocks, b"")
        is_large = len(first) > _TOGETHER
        more = [] if is_large else list(islice(blocks, 1))
        if is_large or more:
            yield from _read_small(small, layout, zone, apart)
            small, size = [], 0
            yield from ((number, chunk) for chunk in _read_blocks(chain([first], more, blocks), layout, zone))
            continue
        if layout.header:
            first, _ = _without_header(first)
        if size + len(first) > _TOGETHER:
            yield from _read_small(small, layout, zone, apart)
            small, size = [], 0
        if first:
            small.append(_SmallFile(number, first))
            size += len(first)
    yield from _read_small(small, layout, zone, apart)


def _read_blocks(blocks: Iterable[Block], layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    header = layout.header
    for block in blocks:
        rows, header = _without_header(block) if header else (block, False)
        if rows:
            yield _read_block(rows, layout, zone)


class _SmallFile(NamedTuple):
    """The lines of a file, and the number of its path."""

    number: int
    lines: Block


def _read_small(
    files: Sequence[_SmallFile], layout: FileLayout, zone: Zone, apart: bool
) -> Iterator[tuple[int, Chunk]]:
    chunk = _read_together([file.lines for file in files], layout, zone) if len(files) > 1 else None
    if chunk is None:
        yield from ((file.number, _read_block(file.lines, layout, zone)) for file in files)
    elif not apart:
        yield files[0].number, chunk
    else:
        begin = 0
        for number, lines in files:
            rows = lines.count(b"\n")
            yield number, Chunk({name: column.slice(begin, rows) for name, column in chunk.columns.items()}, rows)
            begin += rows


def _read_together(blocks: Sequence[Block], layout: FileLayout, zone: Zone) -> Chunk | None:
    """Return the rows of blocks if each of their lines is certainly a row, else None."""
    if not all(_splits_alike(block, layout) for block in blocks):
        return None
    joined = b"".join(blocks)
    chunk = None if _leaves_doubt(joined, layout) else _typed(joined, layout, zone)
    return chunk if chunk is not None and chunk.rows == joined.count(b"\n") else None


def _without_header(block: Block) -> tuple[Block, bool]:
    """Return the block after its first non-blank line, and whether it has no such line."""
    begin = 0
    while begin < len(block):
        end = block.index(b"\n", begin) + 1
        if block[begin:end].strip(_BLANK):
            return block[end:], False
        begin = end
    return b"", True


def _read_block(block: Block, layout: FileLayout, zone: Zone) -> Chunk:
    if _splits_alike(block, layout):
        if not _leaves_doubt(block, layout):
            chunk = _typed(block, layout, zone)
            if chunk is not None:
                return chunk
        split = _split_by_arrow(block, layout) if layout.separator > " " else None
        if split is not None:
            return _from_texts(*split, layout, zone)
    return _from_texts(*_split_by_lines(block, layout), layout, zone)


def _splits_alike(block: Block, layout: FileLayout) -> bool:
    """Tell whether Arrow splits the lines as Spark does: quotes only enclose whole values, without escapes.

    `_has_all_lines` checks whether such a value continues in the next line.
    """
    if b"\0" in block:
        return False
    if b'"' not in block:
        return True
    if b"\\" in block:
        return False
    octets = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(octets == _QUOTE)
    if len(quotes) % 2:
        return False
    outside = _among("\n", layout.separator)
    before = octets[quotes[::2] - 1]
    if quotes[0] == 0:
        before[0] = _LINE_FEED
    return bool(outside[before].all() and outside[octets[quotes[1::2] + 1]].all())


def _has_all_lines(block: Block, rows: int) -> bool:
    """Tell whether the rows are all non-empty lines, so that no value continues in the next line.

    The first line feed within a value follows another character, so a value has fewer empty lines than it costs rows.
    """
    if b'"' not in block:
        return True
    ends = np.frombuffer(block, np.uint8) == _LINE_FEED
    lines = int(np.count_nonzero(ends))
    return rows == lines or rows + int(ends[0]) + int(np.count_nonzero(ends[1:] & ends[:-1])) == lines


def _leaves_doubt(block: Block, layout: FileLayout) -> bool:
    """Tell whether the block may hold values that Arrow reads and Spark does not.

    Arrow trims spaces from numbers, reads hexadecimal numbers, and accepts any exponent of a DECIMAL.
    """
    kinds = {type for _, type in layout.columns}
    if kinds <= {STRING}:
        return False
    octets = np.frombuffer(block, np.uint8)
    # A search for two bytes takes ten times as long as a comparison of all.
    hexadecimal = bool(kinds & set(INTEGERS)) and (b"x" in block or b"X" in block)
    decimals, quoted = [kind for kind in kinds if is_decimal(kind)], b'"' in block
    spaces = [ord(space) for space in " \t" if space != layout.separator and space.encode() in block]
    # Each block ends with a line feed, and one precedes its first byte.
    behind, before = [np.zeros(int(octets[0] in spaces), np.intp)], [_NOWHERE]
    prefixes, marks = [_NOWHERE], [_NOWHERE]
    for begin in range(0, len(octets), _PIECE):
        piece = octets[begin : begin + _PIECE + 1]
        if hexadecimal:
            prefixes.append(np.flatnonzero(((piece[1:] | _SMALL) == ord("x")) & (piece[:-1] == ord("0"))) + begin + 1)
        if decimals:
            # The point, the slash and the digits are adjacent in ASCII.
            in_number = piece[:-1] - np.uint8(ord(".")) <= ord("9") - ord(".")
            marks.append(np.flatnonzero(((piece[1:] | _SMALL) == ord("e")) & in_number) + begin + 1)
        edge = (piece == ord(layout.separator)) | (piece == _LINE_FEED)
        if quoted:
            edge |= piece == _QUOTE
        for space in spaces:
            is_space = piece == space
            behind.append(np.flatnonzero(is_space[1:] & edge[:-1]) + begin + 1)
            before.append(np.flatnonzero(is_space[:-1] & edge[1:]) + begin)
    doubted = [
        *_doubted(octets, np.concatenate(behind), 1, layout.separator).tolist(),
        *_doubted(octets, np.concatenate(before), -1, layout.separator).tolist(),
        *_hexadecimal(octets, np.concatenate(prefixes), layout.separator).tolist(),
    ]
    wide = not all(map(_is_exact, decimals))
    exponents = _exponents(octets, np.concatenate(marks), layout.separator, wide)
    if len(exponents) > _MANY_EXPONENTS:
        return True
    if any(_is_decimal_to_arrow(_type_at(block, place, layout)) for place in exponents.tolist()):
        return True
    return not all(_is_text(_type_at(block, place, layout)) for place in doubted)


def _doubted(octets: np.ndarray, places: np.ndarray, step: int, separator: str) -> np.ndarray:
    """Return the positions from which, in this direction, Arrow may read a value as number or BOOLEAN."""
    near = [octets.take(places + step * distance, mode="clip") for distance in (-1, 1, 2, 3)]
    # A space between a separator and a quote is within the quotes, so the separator is text.
    within = (near[0] == ord(separator)) & (near[1] == _QUOTE)
    return places[_IS_DOUBTED[tuple(_KINDS[octet] for octet in near[1:])] & ~within]


def _hexadecimal(octets: np.ndarray, marks: np.ndarray, separator: str) -> np.ndarray:
    """Return the marks, each an x after a 0, where a number may begin."""
    begins = _among(separator, "\n", '"', " ", "\t", "+", "-")
    return marks[(marks < 2) | begins[octets.take(marks - 2, mode="clip")]]


def _exponents(octets: np.ndarray, marks: np.ndarray, separator: str, wide: bool) -> np.ndarray:
    """Return the positions of the marks, each an e, with an exponent from which Arrow may read another DECIMAL.

    wide: Arrow reads DECIMALs; for small ones it reads out of bounds.
    """
    first = octets.take(marks + 1, mode="clip")
    minus = first == ord("-")
    sign = marks + (minus | (first == ord("+")))
    size, going = np.zeros(len(marks), np.intp), np.arange(len(marks))
    for distance in range(1, _LONG_EXPONENT + 1):
        octet = octets.take(sign[going] + distance, mode="clip")
        going = going[(octet >= ord("0")) & (octet <= ord("9"))]
        size[going] = distance
    ended = _among(separator, "\n", '"', " ", "\t")[octets.take(sign + size + 1, mode="clip")]
    small = minus & ((size > 2) | ((size == 2) & (octets.take(sign + 1, mode="clip") >= ord("2"))))
    return marks[(ended | (size == _LONG_EXPONENT)) & ((size >= _VAST_EXPONENT) | (small & wide))]


def _type_at(block: Block, place: int, layout: FileLayout) -> Type | None:
    """Return the type of the value at a position of a block that `_splits_alike`, None after the last column."""
    before = _QUOTED.sub(b"", block[block.rfind(b"\n", 0, place) + 1 : place])
    column = before.count(layout.separator.encode())
    return layout.columns[column][1] if column < len(layout.columns) else None


def _is_decimal_to_arrow(type: Type | None) -> bool:
    """Tell whether Arrow reads values of a type as DECIMALs."""
    return type is None or (is_decimal(type) and not _is_text(type))


def _is_text(type: Type | None) -> bool:
    """Tell whether Arrow reads values of a type as texts."""
    return type is not None and _local_type(type) == pa.string()


def _among(*characters: str) -> np.ndarray:
    """Return a mask over all bytes: whether each is one of these characters."""
    is_among = np.zeros(256, bool)
    is_among[[ord(character) for character in characters]] = True
    return is_among


def _typed(block: Block, layout: FileLayout, zone: Zone) -> Chunk | None:
    """Let Arrow read the block; return None if it fails on a value, or may read one differently from Spark."""
    first, blank = layout.columns[0][0], layout.separator <= " "
    judged = [n for n, type in layout.columns if type != STRING or n in layout.wanted or (blank and n == first)]
    types = {name: pa.float64() if _is_exact(type) else _local_type(type) for name, type in layout.columns}
    options = csv.ConvertOptions(
        column_types=types,
        include_columns=judged or [first],
        null_values=[""],
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
        strings_can_be_null=True,
    )
    try:
        table = _parsed(block, layout, options)
    except pa.ArrowInvalid:
        return None
    if not _has_all_lines(block, table.num_rows):
        return None
    columns = {name: _one_array(table[name]) for name in table.column_names}
    for column in columns.values():
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py() and table.num_rows:
            return None
    if blank and _may_be_blank(columns[first]):
        return None
    for name, type in layout.columns:
        if type == TIMESTAMP and name in layout.wanted:
            columns[name] = at_zone(columns[name], zone)
        elif _is_exact(type):
            units = _units(columns[name], type)
            if units is None:
                return None
            if name in layout.wanted:
                columns[name] = _of_units(units, columns[name], type)
        elif is_decimal(type):
            columns[name], bad = _decimals(columns[name], type, zone)
            if bad:
                return None
    return Chunk({name: columns[name] for name in layout.wanted}, table.num_rows)


def _may_be_blank(column: pa.Array) -> bool:
    """Tell whether a line whose separators are spaces may be blank to Spark, which skips blank lines."""
    spaces = pa.types.is_string(column.type) and pc.any(pc.match_substring_regex(column, r"^[\x00-\x20]*$")).as_py()
    return bool(column.null_count or spaces)


def _decimals(column: pa.Array, type: Type, zone: Zone) -> tuple[pa.Array, bool]:
    """Return a column of DECIMALs, and whether one does not fit the type, because Arrow accepts too many digits."""
    if pa.types.is_string(column.type):
        values, bad = text_values(column, type, zone)
        return values, bool(bad.any())
    most, bounds = 10 ** (type.precision - type.scale), pc.min_max(column)
    return column, bounds["min"].is_valid and (bounds["min"].as_py() <= -most or bounds["max"].as_py() >= most)


def _is_exact(type: Type) -> bool:
    return is_decimal(type) and type.precision <= _EXACT_DIGITS


def _units(column: pa.Array, type: Type) -> np.ndarray | None:
    """Return DOUBLEs in units of the last digit of a DECIMAL; None if one does not fit, or may differ from the rounded
    text."""
    exact = (column.fill_null(0) if column.null_count else column).to_numpy() * 10.0**type.scale
    units = np.rint(exact)
    if len(units) and not (np.abs(units).max() < 10.0**type.precision and np.abs(exact - units).max() <= _NEAR):
        return None
    return units


def _of_units(units: np.ndarray, column: pa.Array, type: Type) -> pa.Array:
    """Return DECIMALs from unscaled values, NULL where the column is NULL."""
    halves = np.empty((len(units), 2), np.int64)
    halves[:, 0] = units
    np.right_shift(halves[:, 0], 63, out=halves[:, 1])
    decimals = pa.Array.from_buffers(arrow_type(type), len(units), [None, pa.py_buffer(halves)])
    return pc.if_else(column.is_valid(), decimals, pa.scalar(None, decimals.type)) if column.null_count else decimals


def _local_type(type: Type) -> pa.DataType:
    if is_decimal(type) and type.precision + type.scale > _MOST_DIGITS:
        # Arrow silently shifts digits out of the number.
        return pa.string()
    return pa.timestamp("us") if type == TIMESTAMP else arrow_type(type)


def _split_by_arrow(block: Block, layout: FileLayout) -> tuple[dict[str, pa.Array], int] | None:
    """Split the lines into texts; return the columns and how many lines have too few or too many values.

    None if a line is not UTF-8, or a value continues in the next line.
    """
    skipped: list[bool] = []

    def skip(row: csv.InvalidRow) -> str:
        skipped.append(bool(row.text.encode().strip(_BLANK)))
        return "skip"

    options = csv.ConvertOptions(
        column_types={name: pa.string() for name, _ in layout.columns}, null_values=[""], strings_can_be_null=True
    )
    try:
        table = _parsed(block, layout, options, skip)
    except (pa.ArrowInvalid, UnicodeError):
        return None
    if not _has_all_lines(block, table.num_rows + len(skipped)):
        return None
    return {name: _one_array(table[name]) for name in table.column_names}, sum(skipped)


def _parsed(block: Block, layout: FileLayout, options: csv.ConvertOptions, invalid=None) -> pa.Table:
    names = [name for name, _ in layout.columns]
    return csv.read_csv(
        pa.BufferReader(block),
        csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
        csv.ParseOptions(delimiter=layout.separator, invalid_row_handler=invalid),
        options,
    )


def _split_by_lines(block: Block, layout: FileLayout) -> tuple[dict[str, pa.Array], int]:
    """Split like `_split_by_arrow`, but line by line, for lines of any kind."""
    rows, wrong = [], 0
    for line in bytes(block[:-1]).split(b"\n"):
        if not line.strip(_BLANK):
            continue
        values = split_line(line.decode(errors="replace"), layout.separator)
        if len(values) == len(layout.columns):
            rows.append(values)
        else:
            wrong += 1
    columns = zip(*rows, strict=True) if rows else [()] * len(layout.columns)
    texts = (pa.array([value or None for value in column], pa.string()) for column in columns)
    return dict(zip((name for name, _ in layout.columns), texts, strict=True)), wrong


def _from_texts(texts: dict[str, pa.Array], wrong: int, layout: FileLayout, zone: Zone) -> Chunk:
    rows = len(next(iter(texts.values())))
    columns, bad = {}, np.zeros(rows, bool)
    for name, type in layout.columns:
        columns[name], unread = text_values(texts[name], type, zone)
        bad |= unread
    well = pa.array(~bad)
    valid_columns = {name: columns[name].filter(well) if bad.any() else columns[name] for name in layout.wanted}
    return Chunk(valid_columns, int((~bad).sum()), wrong + int(bad.sum()))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
