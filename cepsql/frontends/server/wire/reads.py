"""The threads in which statements of the network are executed, few enough for the machine."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cepsql.catalog.catalog import RECENT_SECONDS, Catalog
from cepsql.frontends.server.wire.answering import TooMuch
from cepsql.frontends.server.wire.limits import Limits

_WAITING = 4
"""How many reads wait for each that runs."""

_RENEWED_SECONDS = RECENT_SECONDS / 3


class Reads:
    """The threads in which statements are executed, and how many wait for one."""

    def __init__(self, limits: Limits):
        self.limits, self._pending = limits, 0
        self.closed = False
        self._threads = ThreadPoolExecutor(limits.reads, "cepsql-reads")
        self._asking = ThreadPoolExecutor(1, "cepsql-names")
        self._asks = False

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

    def keep_recent(self, catalog: Catalog) -> None:
        """Let the catalog ask its store in the background before its names are too old for lookups on the loop."""
        if catalog.age > _RENEWED_SECONDS and not self._asks and not self.closed:
            self._asks = True
            done = asyncio.get_running_loop().run_in_executor(self._asking, lambda: catalog.names)
            done.add_done_callback(self._asked)

    def _asked(self, done: asyncio.Future) -> None:
        self._asks = False
        if not done.cancelled():
            # Who needs the names asks again, and tells what is wrong.
            done.exception()

    def close(self) -> None:
        """Execute nothing more."""
        self.closed = True
        self._asking.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, done: asyncio.Future) -> None:
        self._pending -= 1
        if not done.cancelled():
            done.exception()
