"""An engine without Spark: it answers each statement with what the test prepared."""

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pyarrow as pa

from cepsql.catalog.catalog import Catalog
from cepsql.render.answer import Answer


@dataclass
class Progress:
    batches: int = 0
    rows_read: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    rows_null_time: int = 0
    rows_null_key: int = 0
    rows_ahead: int = 0
    rows_punctuation: int = 0
    matches: int = 0
    timeouts: int = 0
    watermark: object = None
    bound: int | None = None
    waiting: str | None = None
    rows_waiting: int = 0
    open: int = 0
    deadline: object = None
    records_behind: int | None = None


class FakeStanding:
    """Gives its batches from a thread, then ends or waits for `stop`."""

    def __init__(self, query, on_rows, drain):
        self.progress = Progress()
        self.stopped = threading.Event()
        self._query, self._on_rows, self._drain = query, on_rows, drain
        self.tasks = query.tasks
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        for number, batch in enumerate(self._query.batches):
            if self.stopped.is_set():
                return
            self._on_rows(batch, number)
            self.progress.batches += 1
            self.progress.rows_read += batch.num_rows
        if not self._drain and self._query.failure is None:
            self.stopped.wait()

    @property
    def columns(self):
        return self._query.columns

    @property
    def error(self):
        return self._query.failure

    def await_(self, timeout):
        self._thread.join(timeout)
        if not self._thread.is_alive() and self._query.failure is not None:
            raise self._query.failure
        return not self._thread.is_alive()

    def stop(self):
        self.stopped.set()
        self._thread.join()


@dataclass
class FakeQuery:
    columns: list
    batches: Iterable[pa.Table]
    streaming: bool = True
    limit: int | None = None
    malformed: int = 0
    notices: list = field(default_factory=list)
    failure: Exception | None = None
    started: list = field(default_factory=list)
    plan: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(origins=(), matches=()))
    tasks: tuple[int, int] | None = None
    starts: list = field(default_factory=list)
    reading: None = None
    spark_reason: None = None

    def reading_starts(self, checkpoint):
        return self.starts

    def pieces(self, limit=None):
        for batch in self.batches:
            yield batch if limit is None else batch.slice(0, limit)

    def start(self, on_rows, drain=False, checkpoint=None):
        self.started.append(FakeStanding(self, on_rows, drain))
        return self.started[-1]


class FakeEngine:
    """prepared: what each statement gives (an Answer, a FakeQuery) or raises (an exception, or a function of the text
    that makes one)."""

    def __init__(self, prepared):
        self.prepared = prepared
        self.spark = SimpleNamespace(conf={"spark.sql.session.timeZone": "UTC"})
        self.catalog = Catalog()
        self.has_started = True
        self.seen, self.args, self.closed, self.cancelled = [], [], False, threading.Event()

    def execute(self, text: str, args=None) -> Iterator:
        self.seen.append(text)
        self.args.append(args)
        item = self.prepared[text]
        if callable(item):
            item = item(text)
        if isinstance(item, Exception):
            raise item
        yield item

    def query(self, text: str, args=None) -> SimpleNamespace:
        """Return a query whose drawing names its text and columns."""
        return SimpleNamespace(drawing=lambda x, y, width: f"drawn: {y} over {x} of {text}")

    def subscription(self, text):
        return None

    def notices(self, query):
        return ()

    def loss(self, text):
        return text.partition(" ")[2] if text.startswith("DROP") else None

    def warm(self):
        pass

    def cancel(self):
        self.cancelled.set()

    def close(self, at_exit=False):
        self.closed = True


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def stream(*batches: pa.Table, **options) -> FakeQuery:
    return FakeQuery([("n", "bigint")], batches, **options)


def endless() -> FakeQuery:
    def batches():
        n = 0
        while True:
            yield numbers(n)
            n += 1
            time.sleep(0.001)

    return FakeQuery([("n", "bigint")], batches())


def message(text: str) -> Answer:
    return Answer((), (), text)
