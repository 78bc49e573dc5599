"""Leases of this process are renewed in a thread of their own, which nothing else keeps waiting."""

import threading
import time
from collections.abc import Callable

from cepsql.catalog.leases import Lease, Leases
from cepsql.errors import Error


class Renewal:
    """Renews leases; one that is lost, or could not be renewed while it lasted, is handed to `lost`, once.

    lost: called in the thread of the renewal.
    """

    def __init__(self, leases: Leases, lost: Callable[[Lease], None]):
        self._leases, self._lost = leases, lost
        # Until when each lease lasts at least, by this process's own clock.
        self._until: dict[Lease, float] = {}
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, what: str, owner: str) -> Lease | None:
        """Take a lease and keep it renewed; None if another owner holds it."""
        begin = time.monotonic()
        lease = self._leases.acquire(what, owner)
        if lease is not None:
            with self._lock:
                self._until[lease] = begin + self._leases.seconds
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="cepsql-leases", daemon=True)
                    self._thread.start()
        return lease

    def release(self, lease: Lease) -> None:
        """Give a lease back."""
        with self._lock:
            self._until.pop(lease, None)
        self._leases.release(lease)

    def holds(self, lease: Lease) -> bool:
        """Tell whether a lease is still this process's."""
        with self._lock:
            return self._until.get(lease, 0.0) > time.monotonic()

    def close(self) -> None:
        """Renew nothing any more."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

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
            # The store is away: nobody can take a lease over there, but it may come back just after one has ended.
            with self._lock:
                lost = [lease for lease in leases if self._until.get(lease, begin) <= begin]
        else:
            with self._lock:
                renewed = {lease: begin + self._leases.seconds for lease in leases if lease not in lost}
                self._until |= {lease: until for lease, until in renewed.items() if lease in self._until}
        for lease in lost:
            with self._lock:
                known = self._until.pop(lease, None)
            if known is not None:
                self._lost(lease)
