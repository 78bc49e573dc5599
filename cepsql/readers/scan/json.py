"""JSON lines as Spark reads them: fast where Arrow's reader agrees with Spark's, line by line elsewhere."""

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from cepsql.readers.scan.blocks import Block, line_blocks
from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.json_line import read_line
from cepsql.readers.scan.json_value import converter
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.texts import text_values
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import DATE, STRING, TIMESTAMP, is_decimal
from cepsql.scalar.zone import Zone

_SMALL = 1 << 15
_LONGEST = 1000
"""The length of lines below which nothing exceeds Jackson's limits of depth and length."""

_WORDS = re.compile(rb"[:,\[ \t+-](?:NaN|Inf)")
"""Numbers that Arrow reads and Spark does not."""

_MINUS_ZERO = re.compile(rb"-0[^0-9.eE]")
"""A number that Arrow reads with the wrong sign."""

_EXPONENT = re.compile(rb"[0-9.][eE][+-]?[0-9]")
"""What Arrow must not get in a DECIMAL: it then skips the digit check, and crashes on some exponents."""

_TEXTS = (STRING, TIMESTAMP, DATE)


def read_json(path: str, layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Yield the rows of a file, a block of lines at a time.

    A row is malformed if Spark's reader in PERMISSIVE mode, reading all columns, returns a corrupt record: it is not an
    object or array of objects, or a value is not of its column's type. Names are case-sensitive.
    Raises OperationalError if the file cannot be read.
    """
    for block in line_blocks(path, layout.longest):
        yield _joined(list(_read_block(block, layout, zone)), layout)


def _read_block(block: Block, layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Read a block; halve it until Arrow reads it or it is small."""
    chunk = objects_by_arrow(block, layout, zone)
    if chunk is not None:
        yield chunk
        return
    middle = block.find(b"\n", len(block) // 2) + 1
    if len(block) <= _SMALL or middle == len(block):
        yield _by_lines(block, layout, zone)
        return
    yield from _read_block(block[:middle], layout, zone)
    yield from _read_block(block[middle:], layout, zone)


def objects_by_arrow(block: Block, layout: FileLayout, zone: Zone) -> Chunk | None:
    """Let Arrow read lines with one object each; return None if it fails, or may differ from Spark."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    lines = len(ends)
    if not _one_object_a_line(block, ends) or _doubtful(block):
        return None
    if any(is_decimal(type) for _, type in layout.columns) and _EXPONENT.search(block):
        return None
    schema = pa.schema([(name, pa.string() if type in _TEXTS else arrow_type(type)) for name, type in layout.columns])
    try:
        if not block.isascii():
            block.decode()
        table = json.read_json(
            pa.BufferReader(block),
            json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != lines:
        return None
    columns = {}
    for name, type in layout.columns:
        column = table[name].combine_chunks()
        if type in _TEXTS:
            column, bad = text_values(column, type, zone)
            if bad.any():
                return None
        elif pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
            return None
        columns[name] = column
    return Chunk({name: column for name, column in columns.items() if name in layout.wanted}, lines)


def _one_object_a_line(block: Block, ends: np.ndarray) -> bool:
    """Tell whether equal counts of objects and lines mean one object per line: each line must begin with a brace.

    ends: the positions of the line ends.
    """
    if np.diff(ends, prepend=-1).max() > _LONGEST:
        return False
    return block.startswith(b"{") and block.count(b"}\n{") == len(ends) - 1 and block.endswith(b"}\n")


def _doubtful(block: Block) -> bool:
    """Tell whether Arrow may read a number differently; for most blocks, a search for fixed bytes is enough."""
    return bool(_MINUS_ZERO.search(block) or ((b"NaN" in block or b"Inf" in block) and _WORDS.search(block)))


def _by_lines(block: Block, layout: FileLayout, zone: Zone) -> Chunk:
    columns = {name: converter(type, zone) for name, type in layout.columns}
    rows, malformed = [], 0
    for line in bytes(block[:-1]).split(b"\n"):
        line_rows, wrong = read_line(line, columns)
        rows += line_rows
        malformed += wrong
    arrays = {
        name: pa.array([row.get(name) for row in rows], arrow_type(type))
        for name, type in layout.columns
        if name in layout.wanted
    }
    return Chunk(arrays, len(rows), malformed)


def _joined(chunks: list[Chunk], layout: FileLayout) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    columns = {name: pa.concat_arrays([chunk.columns[name] for chunk in chunks]) for name in layout.wanted}
    return Chunk(columns, sum(chunk.rows for chunk in chunks), sum(chunk.malformed for chunk in chunks))
