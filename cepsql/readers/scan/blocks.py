"""Read files of lines, compressed or not, in blocks of whole lines."""

import bz2
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.readers.scan.damaged import unread
from cepsql.readers.scan.long_lines import DEFAULT_LINE_BYTES, LONG_LINE

BLOCK_BYTES = 6 * 2**20
"""How many bytes of text are read at a time: about as many rows as a piece of a packet has."""

Block = bytes | bytearray
"""Lines that are read together, each with its line feed."""

_MARK = f"{LONG_LINE}\n".encode()
_BOM = b"\xef\xbb\xbf"
_COMPRESSED_BYTES = _LEAST_BYTES = 2**16
_UNREAD = {".snappy", ".lz4"}


def line_blocks(path: str, longest: int = DEFAULT_LINE_BYTES) -> Iterator[Block]:
    """Yield the file's lines in blocks, each line with a single line feed at its end, without byte order mark.

    longest: LONG_LINE replaces a line with more bytes, of which at most about BLOCK_BYTES more are in memory.
    Carriage returns also end lines. Raises OperationalError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            begun, rest, ended = False, b"", False
            while not ended:
                block = _read(file, rest)
                ended = len(block) == len(rest)
                # Cut in place, because copying a block takes longer than reading it.
                end = len(block) if ended else _last_end(block)
                rest = bytes(block[end:])
                returned = rest.endswith(b"\r")
                too_long = len(rest) - returned > longest
                if not end and not too_long:
                    continue
                if end:
                    del block[end:]
                    if not begun and block.startswith(_BOM):
                        del block[: len(_BOM)]
                    begun = True
                    yield from _shortened(_with_line_feeds(block), longest)
                if too_long:
                    begun = True
                    yield _MARK
                    rest, ended = (b"", False) if returned else _behind_line(file)
    except (OSError, EOFError, zlib.error) as error:
        raise unread(path, error) from error


def _read(file: io.BufferedIOBase, begin: bytes) -> bytearray:
    """Return `begin` with the next bytes of a file appended."""
    block = bytearray(len(begin) + min(BLOCK_BYTES, _left(file)))
    block[: len(begin)] = begin
    with memoryview(block) as whole, whole[len(begin) :] as free:
        read = file.readinto(free)
    del block[len(begin) + read :]
    return block


def _left(file: io.BufferedIOBase) -> int:
    """Return how many bytes to allocate: one more than the rest of a file, if its size is known."""
    if not isinstance(file, io.BufferedReader) or not isinstance(file.raw, io.FileIO):
        return BLOCK_BYTES
    return max(os.fstat(file.fileno()).st_size - file.tell() + 1, _LEAST_BYTES)


def _last_end(block: bytearray) -> int:
    """Return the end of the last complete line; a carriage return at the end may still be followed by its line feed."""
    return block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, max(0, len(block) - 1)) + 1


def _behind_line(file: io.BufferedIOBase) -> tuple[bytes, bool]:
    """Skip the rest of a line; return the bytes read after it, and whether the file has ended."""
    while block := _read(file, b""):
        ends = [place for place in (block.find(b"\n"), block.find(b"\r")) if place >= 0]
        if ends:
            return bytes(block[min(ends) + 1 :]), False
    return b"", True


def _with_line_feeds(block: bytearray) -> bytearray:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if block and not block.endswith(b"\n"):
        block += b"\n"
    return block


def _shortened(block: Block, longest: int) -> Iterator[Block]:
    """Yield a block with lines that are too long replaced."""
    if len(block) > longest + 1:
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if np.diff(ends, prepend=-1).max() > longest + 1:
            lines = bytes(block[:-1]).split(b"\n")
            block = b"\n".join(line if len(line) <= longest else _MARK[:-1] for line in lines) + b"\n"
    if block:
        yield block


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
        return io.BufferedReader(_Inflated(path))
    if suffix == ".zst":
        return io.BufferedReader(pa.input_stream(path, compression="zstd"))
    return open(path, "rb")


class _Inflated(io.RawIOBase):
    """The decompressed content of a file in zlib's format."""

    def __init__(self, path: str):
        self._file, self._inflating = io.FileIO(path), zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        """Fill a buffer as far as data is available; raises zlib.error if the data is damaged, EOFError if its end is
        missing."""
        inflated = b""
        while not (inflated or self._inflating.eof):
            compressed = self._inflating.unconsumed_tail or self._file.read(_COMPRESSED_BYTES)
            if not compressed:
                raise EOFError("the file ends before the end of what was compressed")
            inflated = self._inflating.decompress(compressed, len(buffer))
        buffer[: len(inflated)] = inflated
        return len(inflated)

    def close(self) -> None:
        self._file.close()
        super().close()
