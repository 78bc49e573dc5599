"""Files of lines, compressed or not, in blocks of whole lines."""

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from cepsql.errors import OperationalError

BLOCK_BYTES = 6 * 2**20
"""How many bytes of text are read at a time: about as many rows as a packet's piece holds."""

_BOM = b"\xef\xbb\xbf"
_UNREAD = {".snappy", ".lz4"}


def line_blocks(path: str) -> Iterator[bytes]:
    """Yield the file's lines in blocks, each line ended by a line feed alone, without a mark of the byte order.

    Carriage returns end lines, too. Raises OperationalError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            begun = False
            while block := file.read(BLOCK_BYTES):
                if not block.endswith(b"\n"):
                    block += file.readline()
                if not begun:
                    block, begun = block.removeprefix(_BOM), True
                if b"\r" in block:
                    block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                yield block if block.endswith(b"\n") else block + b"\n"
    except (OSError, EOFError, zlib.error) as error:
        raise OperationalError(f"{path} cannot be read: {error}") from error


def _opened(path: str) -> BinaryIO | io.BufferedIOBase:
    suffix = Path(path).suffix.lower()
    if suffix in _UNREAD:
        raise OperationalError(
            f"{path} is compressed in a way that the Arrow scan does not read",
            hint="SET 'cepsql.scan' = 'spark' and start with a new checkpoint",
        )
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix == ".deflate":
        return io.BytesIO(zlib.decompress(Path(path).read_bytes()))
    if suffix == ".zst":
        return io.BufferedReader(pa.input_stream(path, compression="zstd"))
    return open(path, "rb", buffering=1 << 16)
