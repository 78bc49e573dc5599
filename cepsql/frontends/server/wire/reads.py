"""The threads in which statements of the network are executed, few enough for the machine."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cepsql.frontends.server.wire.answering import TooMuch
from cepsql.frontends.server.wire.limits import Limits

_WAITING = 4
"""How many reads wait for each that runs."""


class Reads:
    """The threads in which statements are executed, and how many wait for one."""

    def __init__(self, limits: Limits):
        self.limits, self._pending = limits, 0
        self.closed = False
        self._threads = ThreadPoolExecutor(limits.reads, "cepsql-reads")

    async def run(self, action, *arguments: Any, limited: bool = True) -> Any:
        """Return what an action gives; raises TooMuch where too many wait, or it takes too long."""
        if self._pending >= self.limits.reads * (1 + _WAITING):
            raise TooMuch(f"{self._pending} statements run or wait already", hint="try again")
        self._pending += 1
        done = asyncio.get_running_loop().run_in_executor(self._threads, action, *arguments)
        done.add_done_callback(self._ended)
        if not limited:
            return await done
        try:
            # Before Python 3.12 `wait_for` forgets a cancel that comes as the answer does.
            async with asyncio.timeout(self.limits.seconds):
                return await asyncio.shield(done)
        except TimeoutError:
            hint = "SHOW VIEW POSITIONS tells how far the views are that AFTER waits for; --max-seconds allows more"
            raise TooMuch(f"the answer takes longer than {self.limits.seconds:g} seconds", hint=hint) from None

    def close(self) -> None:
        """Execute nothing more."""
        self.closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, done: asyncio.Future) -> None:
        self._pending -= 1
        if not done.cancelled():
            done.exception()
