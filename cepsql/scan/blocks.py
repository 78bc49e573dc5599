"""Files of lines, compressed or not, in blocks of whole lines."""

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.scan.damaged import unread

BLOCK_BYTES = 6 * 2**20
"""How many bytes of text are read at a time: about as many rows as a packet's piece holds."""

Block = bytes | bytearray
"""Lines that are read together, the last one ended, too."""

_BOM = b"\xef\xbb\xbf"
_UNREAD = {".snappy", ".lz4"}


def line_blocks(path: str) -> Iterator[bytearray]:
    """Yield the file's lines in blocks, each line ended by a line feed alone, without a mark of the byte order.

    Carriage returns end lines, too. Raises OperationalError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            begun, rest = False, b""
            while block := _read(file, rest):
                # Cut in place: a copy of a block takes longer than reading it.
                end = block.rfind(b"\n") + 1
                rest = bytes(block[end:]) if end else b""
                if end:
                    del block[end:]
                else:
                    block += file.readline()
                if not begun:
                    block, begun = block.removeprefix(_BOM), True
                if b"\r" in block:
                    block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                if not block.endswith(b"\n"):
                    block += b"\n"
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise unread(path, error) from error


def _read(file: io.BufferedIOBase, begin: bytes) -> bytearray:
    """Return what a file goes on with, behind what was read of it before."""
    block = bytearray(len(begin) + BLOCK_BYTES)
    block[: len(begin)] = begin
    with memoryview(block) as whole, whole[len(begin) :] as free:
        read = file.readinto(free)
    del block[len(begin) + read :]
    return block


def _opened(path: str) -> io.BufferedIOBase:
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
    return open(path, "rb")
