"""Renewal of the leases of this process in a thread of its own; another thread notices when they end, even while the
catalog blocks the first one."""

import threading
import time
from collections.abc import Callable

from cepsql.catalog.leases import Lease, Leases
from cepsql.errors import Error


class Renewal:
    """Renews leases; one that is lost, or could not be renewed in time, is passed to `lost`, once.

    lost: called in a thread of the renewal.
    """

    def __init__(self, leases: Leases, lost: Callable[[Lease], None]):
        self._leases, self._lost = leases, lost
        # The time until which each lease lasts at least, by the monotonic clock.
        self._until: dict[Lease, float] = {}
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []

    def acquire(self, what: str, owner: str) -> Lease | None:
        """Take a lease and keep it renewed; None if another owner holds it."""
        begin = time.monotonic()
        lease = self._leases.acquire(what, owner)
        if lease is not None:
            with self._lock:
                self._until[lease] = begin + self._leases.seconds
                if not self._threads:
                    for run in (self._run, self._watch):
                        self._threads.append(threading.Thread(target=run, name="cepsql-leases", daemon=True))
                        self._threads[-1].start()
        return lease

    def release(self, lease: Lease) -> None:
        """Give a lease back."""
        with self._lock:
            self._until.pop(lease, None)
        self._leases.release(lease)

    def holds(self, lease: Lease) -> bool:
        """Tell whether this process still holds a lease."""
        with self._lock:
            return self._until.get(lease, 0.0) > time.monotonic()

    def close(self) -> None:
        """Stop the renewal."""
        self._closed.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._leases.seconds / 5):
            with self._lock:
                leases = list(self._until)
            if leases:
                self._renew(leases)

    def _renew(self, leases: list[Lease]) -> None:
        begin = time.monotonic()
        try:
            lost = self._leases.renew(*leases)
        except Error:
            return
        with self._lock:
            renewed = {lease: begin + self._leases.seconds for lease in leases if lease not in lost}
            self._until |= {lease: until for lease, until in renewed.items() if lease in self._until}
        self._end(lost)

    def _watch(self) -> None:
        """End leases that were not renewed in time, because this process cannot reach the catalog."""
        while not self._closed.wait(self._leases.seconds / 10):
            now = time.monotonic()
            with self._lock:
                ended = [lease for lease, until in self._until.items() if until <= now]
            self._end(ended)

    def _end(self, leases: list[Lease]) -> None:
        for lease in leases:
            with self._lock:
                until = self._until.pop(lease, None)
            if until is not None:
                self._lost(lease)
