"""Messages of PostgreSQL's protocol, read and written in as few pieces as they came in."""

import asyncio
import struct

from pg_mimic.stream import ConnectionClosed, PgStream

_STARTUP_BYTES = 10_000
_SPARE_BYTES = 10_000
_READ_BYTES, _WRITE_BYTES = 65_536, 65_536
_HEADER = struct.Struct("!ci")


class MessageStream(PgStream):
    """Messages of bounded size: what is longer ends the connection before it is read.

    What is written waits for `drain`, or until nothing more can be read without waiting: a client that sends several
    messages at once gets the answers so, too. Each piece costs both sides a system call, and Python's lock.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int):
        super().__init__(reader, writer)
        self._most, self._room = most + _SPARE_BYTES, _STARTUP_BYTES
        self._input = bytearray()
        self._output: list[bytes] = []
        self._waiting = 0

    def begun(self) -> None:
        """Take longer messages: the user is known."""
        self._room = self._most

    async def _read_exactly(self, n: int) -> bytes:
        # Only what comes before the first message, and maybe before TLS, is read so.
        if not 0 <= n <= self._room:
            raise ConnectionClosed
        return await super()._read_exactly(n)

    async def read_message(self) -> tuple[bytes, bytes]:
        """Return the tag and the payload of the next message; raises ConnectionClosed."""
        while True:
            if len(self._input) >= _HEADER.size:
                tag, length = _HEADER.unpack_from(self._input)
                if not 4 <= length <= self._room:
                    raise ConnectionClosed
                if len(self._input) > length:
                    payload = bytes(self._input[_HEADER.size : length + 1])
                    del self._input[: length + 1]
                    return tag, payload
            await self.drain()
            piece = await self.reader.read(_READ_BYTES)
            if not piece:
                raise ConnectionClosed
            self._input += piece

    def write(self, data: bytes) -> None:
        """Write something, which goes out with what follows."""
        self._output.append(data)
        self._waiting += len(data)
        if self._waiting > _WRITE_BYTES:
            self._pass_on()

    def _pass_on(self) -> None:
        if self._output:
            self.writer.write(b"".join(self._output))
            self._output.clear()
            self._waiting = 0

    async def drain(self) -> None:
        """Send what was written, and wait until the client takes more; others go before who has sent more."""
        self._pass_on()
        await super().drain()
        if self._input:
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Send what was written, and close the connection."""
        self._pass_on()
        await super().close()
