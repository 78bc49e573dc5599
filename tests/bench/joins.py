"""Joins by time of two streams by cepsql and by Flink SQL, over the same files, with equal rows.

    python tests/bench/joins.py --flink /path/to/flink-venv/bin/python [--rows 2000000] [--rounds 1]
                                [--queries interval versions ...] [--dir DIR] [--json FILE]

Of the rows half are orders or trades, one a millisecond, and half payments or quotes, which they meet. Prints the
median seconds of either system and their ratio. Exits with 1 if the rows differ.

interval  an order and its payments of the next ten minutes; three of four orders have one, one of four has two
left      the same, and the orders without one (and no time of payments: Flink's files take no NULL there)
busy      trades and quotes of a symbol that are at most 20 milliseconds apart, each way; there are a thousand symbols
versions  a trade and the quote of its symbol at its time (FOR SYSTEM_TIME AS OF)
asof      the same as an ASOF JOIN, which Flink does not have; it runs the text of versions
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from beside_flink import Query, Workload, main
from pyarrow import csv

SEED, SYMBOLS = 7, 1000
_BEGIN = np.datetime64("2026-01-01T00:00:00", "ms")

TABLES = {
    "orders": "id BIGINT, customer BIGINT, ts TIMESTAMP, amount DOUBLE",
    "payments": "order_id BIGINT, ts TIMESTAMP, paid DOUBLE",
    "trades": "id BIGINT, symbol BIGINT, ts TIMESTAMP, price DOUBLE",
    "quotes": "symbol BIGINT, ts TIMESTAMP, bid DOUBLE",
    "latest_quotes": "symbol BIGINT, ts TIMESTAMP, bid DOUBLE",
}


def _write(folder: Path, rows: int, files: int) -> None:
    """Write half of so many rows as orders and as trades each, one a millisecond, and what they meet."""
    draw, half = np.random.default_rng(SEED), rows // 2
    numbers = np.arange(half)
    orders = {"id": numbers, "customer": draw.integers(0, 10_000, half), "ts": numbers, "amount": _cents(draw, half)}
    times = np.repeat(numbers, draw.choice([0, 1, 1, 2], half))
    later = times + draw.integers(1, 600_000, len(times))
    order = np.argsort(later, kind="stable")
    payments = {"order_id": times[order], "ts": later[order], "paid": _cents(draw, len(times))}
    trades = {"id": numbers, "symbol": draw.integers(0, SYMBOLS, half), "ts": numbers, "price": _cents(draw, half)}
    # Each symbol has a quote of its own millisecond.
    quotes = {"symbol": (numbers * 617) % SYMBOLS, "ts": numbers, "bid": _cents(draw, half)}
    tables = {"orders": orders, "payments": payments, "trades": trades, "quotes": quotes, "latest_quotes": quotes}
    for name, columns in tables.items():
        table = pa.table(columns | {"ts": _BEGIN + columns["ts"].astype("timedelta64[ms]")})
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(np.array_split(np.arange(len(table)), files)):
            options = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(table.slice(part[0], len(part)), folder / name / f"{number:03d}.csv", options)


def _cents(draw: np.random.Generator, number: int) -> np.ndarray:
    return draw.integers(100, 10_000, number) / 100


_PAID = "ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '10' MINUTE"
_VERSIONS = """SELECT t.id, t.price, q.bid FROM trades AS t
    LEFT JOIN latest_quotes FOR SYSTEM_TIME AS OF t.ts AS q ON q.symbol = t.symbol"""
_ASOF = """SELECT t.id, t.price, q.bid FROM trades AS t
    LEFT ASOF JOIN quotes AS q MATCH_CONDITION (t.ts >= q.ts) ON q.symbol = t.symbol"""
_BUSY = """SELECT t.id, t.price, q.ts, q.bid FROM trades AS t JOIN quotes AS q ON q.symbol = t.symbol
    AND q.ts BETWEEN t.ts - INTERVAL '0.02' SECOND AND t.ts + INTERVAL '0.02' SECOND"""


def _both(text: str) -> Query:
    return Query(text, text)


WORKLOAD = Workload(
    name="joins",
    tables=TABLES,
    time="ts",
    write=_write,
    queries={
        "interval": _both(f"SELECT o.id, o.amount, p.ts, p.paid FROM orders AS o JOIN payments AS p {_PAID}"),
        "left": _both(f"SELECT o.id, o.amount, p.paid FROM orders AS o LEFT JOIN payments AS p {_PAID}"),
        "busy": _both(_BUSY),
        "versions": _both(_VERSIONS),
        "asof": Query(_ASOF, _VERSIONS),
    },
    rows=2_000_000,
    warm_up=100_000,
    keys={"latest_quotes": "symbol"},
)

if __name__ == "__main__":
    sys.exit(main(WORKLOAD, __doc__))
