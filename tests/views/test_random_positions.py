"""Views over random rows in random micro-batches, read at each position: equal to the same SQL over the rows so far."""

import contextlib
import datetime
import os
import sqlite3
import time

import pytest
from chance import draws, examples
from test_materialized_views import put

import cepsql
from cepsql.catalog.view_store import view_source
from cepsql.views.snapshot import position_of

BEGIN = datetime.datetime(2026, 1, 5, 10, tzinfo=datetime.UTC)
QUERIES = {
    "spent": "SELECT city, COUNT(*) AS n, SUM(total) AS total, MAX(total) AS most FROM orders GROUP BY city",
    "sizes": "SELECT total, COUNT(*) AS n FROM orders WHERE total % 2 = 0 GROUP BY total",
    "large": "SELECT id, city, total FROM orders WHERE total > 4",
}
KEYS = {"spent": 1, "sizes": 1, "large": 3}
_STREAM = """CREATE STREAM orders (id INT, city STRING, at TIMESTAMP, total INT, WATERMARK FOR at AS at - INTERVAL '10'
MINUTES) USING csv OPTIONS (path '{}', timestampFormat "yyyy-MM-dd'T'HH:mm:ssX")"""
WINDOWS = """SELECT city, window_end, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 4 MINUTES)
GROUP BY city, window_start, window_end EMIT CHANGES"""
RETAIN = "OPTIONS (retain '1 hour')"
IN_WINDOWS = "SELECT city, COUNT(*) FROM orders GROUP BY city, unixepoch(at) / 240"
AT_LEAST = "SELECT city, n FROM timed UNION ALL SELECT city, 0L FROM large WHERE id < 0 AT WATERMARK"


class Rows:
    """The rows that were put into the stream, as a database has them."""

    def __init__(self, folder, chance):
        self._folder, self._chance, self._files, self._ids = folder, chance, 0, 0
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE TABLE orders (file INT, id INT, city TEXT, at TEXT, total INT)")

    def put(self) -> None:
        """Put a file of random rows, none of which is late."""
        lines = []
        for _ in range(self._chance.choice([1, 1, 2, 5, 20])):
            at = BEGIN + datetime.timedelta(minutes=2 * self._files, seconds=self._chance.randrange(240))
            row = (self._ids, self._chance.choice("abcd"), f"{at:%Y-%m-%dT%H:%M:%SZ}", self._chance.randrange(8))
            self.connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", (self._files, *row))
            lines.append(",".join(map(str, row)))
            self._ids += 1
        name = f"{self._files:03d}.csv"
        put(self._folder, name, "\n".join(lines) + "\n")
        os.utime(self._folder / name, times=(time.time() - 100 + self._files,) * 2)
        self._files += 1

    def rows(self, sql: str) -> list[tuple]:
        return sorted(self.connection.execute(sql).fetchall())


def apply(changes, rows: dict, key: int) -> None:
    """Apply changes to rows by their first columns, and see that each finds what it says."""
    for change in changes.rows.to_pylist():
        op, values = change.pop("op"), tuple(change.values())
        if op in ("-D", "-U"):
            assert rows.pop(values[:key]) == values
        else:
            assert rows.setdefault(values[:key], values) == values


@pytest.mark.parametrize("number", range(examples(1)))
def test_views_are_their_queries_over_the_rows_so_far(spark, tmp_path, number):
    chance, folder = draws(f"views at positions {number}"), tmp_path / "orders"
    folder.mkdir()
    rows, grouped = Rows(folder, chance), chance.random() < 0.7
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(_STREAM.format(folder))
        engine.sql("CREATE VIEW GROUP g")
        place = " IN g" if grouped else ""
        for name, query in QUERIES.items():
            emit = " EMIT CHANGES" if "GROUP BY" in query else ""
            engine.sql(f"CREATE MATERIALIZED VIEW {name}{place} AS {query}{emit}")
        engine.sql(f"CREATE MATERIALIZED VIEW timed{place} PRIMARY KEY (city, window_end) {RETAIN} AS {WINDOWS}")
        if grouped:
            engine.sql("START VIEW GROUP g")
        owned = engine._context.home.reconciler._owned
        running = [owned[name].running for name in (["g"] if grouped else [*QUERIES, "timed"])]
        rows_by_view: dict[str, dict] = {name: {} for name in QUERIES}
        followed, tokens, versions = {}, {name: [] for name in QUERIES}, []

        def watermark(view: str) -> int | None:
            position = position_of(view_source(engine.catalog.find(view), engine.catalog.view_file))
            return None if position is None else position.watermark

        for step in range(chance.randint(4, 6)):
            with contextlib.ExitStack() as searching:
                # One micro-batch has all files.
                for query in running:
                    searching.enter_context(query.unsearched())
                for _ in range(chance.choice([1, 1, 2, 3])):
                    rows.put()
            for query in running:
                query.process_available()
            versions.append((watermark("timed"), rows.rows(IN_WINDOWS)))
            for name, sql in QUERIES.items():
                if name not in followed:
                    followed[name] = engine.subscribe(name)
                while (changes := followed[name].poll()) is not None:
                    apply(changes, rows_by_view[name], KEYS[name])
                    tokens[name].append((changes.token, dict(rows_by_view[name])))
                expected = rows.rows(sql)
                assert sorted(rows_by_view[name].values()) == expected, (step, name)
                read = engine.query(f"SELECT * FROM {name}").arrow().to_pylist()
                assert sorted(tuple(row.values()) for row in read) == expected, (step, name)
        # From each token on the same changes lead to the same rows.
        for name, states in tokens.items():
            token, state = chance.choice(states)
            with engine.subscribe(name, since=token) as again:
                while (changes := again.poll()) is not None:
                    apply(changes, state, KEYS[name])
            assert state == rows_by_view[name]
        # The watermark of single rows is that of the micro-batch before.
        least = watermark("large")
        assert least is not None and versions[-1][0] is not None
        expected = [version for at, version in versions if at is not None and at <= least]
        read = engine.query(AT_LEAST).arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in read) == expected[-1]
        for subscription in followed.values():
            subscription.close()
