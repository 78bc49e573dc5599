"""Chains of views, read as Spark reads them: what is killed and begun again at any place loses and doubles nothing."""

import random

import pytest
from test_view_changes import Writer

from cepsql.spark.sources.view_changes_source import ChangesReading, _ChangesStreamReader
from cepsql.views.change_feed import end_reading

NAMES = ("city", "n", "cepsql_gone")


class Query:
    """A query of Spark's over the changes of a view: it logs where a batch ends, computes it, and commits it."""

    def __init__(self, upstream: Writer, downstream: Writer | None):
        self.reading = ChangesReading(upstream.changes(), NAMES, "q")
        self.upstream, self.downstream = upstream, downstream
        self.planned: list[dict] = []
        self.rows: dict = {}
        self.committed = 0
        self.start()

    def start(self) -> None:
        """Begin again with what the log says, as after a kill."""
        self.reader = _ChangesStreamReader(self.reading)
        self.done = self.committed

    def step(self, draw: random.Random) -> None:
        """Go through a batch, with a kill at any place."""
        if self.done == len(self.planned):
            begin = self.planned[-1] if self.planned else self.reader.initialOffset()
            if self.planned and draw.random() < 0.7:
                self.reader.commit(begin)
            end = self.reader.latestOffset(begin, None)
            if end == begin or self._killed(draw):
                return
            self.planned.append(end)
        if self._killed(draw):
            return
        begin = self.planned[self.done - 1] if self.done else self.reader.initialOffset()
        changes = []
        for part in self.reader.partitions(begin, self.planned[self.done]):
            for batch in self.reader.read(part):
                changes += batch.to_pylist()
        if self._killed(draw):
            return
        before = self.rows
        self.rows = dict(before)
        for change in changes:
            if change["cepsql_gone"]:
                # A deletion finds its row, and an insertion finds none.
                assert self.rows.pop(change["city"]) == change["n"]
            else:
                assert change["city"] not in self.rows
                self.rows[change["city"]] = change["n"]
        if self.downstream is not None:
            gone = [("-D", city, n) for city, n in before.items() if self.rows.get(city) != n]
            came = [("+I", city, n) for city, n in self.rows.items() if before.get(city) != n]
            self.downstream.write(self.done, [*gone, *came])
        if self._killed(draw):
            # Its batch comes again: the sink knows it, and this query's state is that of the batch before.
            self.rows = before
            return
        self.done += 1
        self.committed = self.done

    def _killed(self, draw: random.Random) -> bool:
        if draw.random() < 0.15:
            self.start()
            return True
        return False


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_of_three_views_survives_kills(tmp_path, seed):
    draw = random.Random(seed)
    store = f"sqlite:///{tmp_path / 'views.db'}"
    views = [Writer(store, name=name) for name in ("first", "second", "third")]
    links = [Query(views[0], views[1]), Query(views[1], views[2])]
    rows: dict = {}
    for batch in range(12):
        city, n = draw.choice("abcde"), draw.randrange(3)
        said = [("-U", city, rows[city])] if city in rows else []
        if n:
            views[0].write(batch, [*said, ("+U" if said else "+I", city, n)])
            rows[city] = n
        else:
            views[0].write(batch, said)
            rows.pop(city, None)
        for link in links:
            for _ in range(draw.randrange(3)):
                link.step(draw)
    for link in links:
        for _ in range(6):
            link.step(_Calm())
    expected = sorted(rows.items())
    assert [view.rows() for view in views] == [expected] * 3
    end_reading(links[0].reading.view, "q")


class _Calm(random.Random):
    """Kills nobody."""

    def random(self) -> float:
        return 0.5
