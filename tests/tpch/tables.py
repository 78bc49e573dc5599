"""TPC-H's tables as streams with a PRIMARY KEY, whose rows come early, are deleted and come again."""

from dataclasses import dataclass
from typing import Any

import duckdb
from chance import draws
from generator import KEYS, columns, connection

SAMPLES = {
    "orders": "o_orderkey % 16 = 1", "lineitem": "l_orderkey % 16 = 1", "part": "p_partkey % 4 < 2",
    "partsupp": "ps_partkey % 4 < 2",
}  # fmt: skip
"""What is kept of scale 0.01: keys of scale 0.001 are not unique, and all of scale 0.01 takes long."""


@dataclass(frozen=True)
class MicroBatches:
    """What comes of each table.

    columns: the columns of each table with their types, as Spark SQL.
    changes: for each micro-batch the rows that come of each table; the last value of each says whether it is deleted.
    """

    columns: dict[str, list[tuple[str, str]]]
    changes: list[dict[str, list[tuple]]]

    @property
    def definitions(self) -> str:
        """The streams, as SQL."""
        return "".join(
            f"CREATE STREAM {name} ({', '.join(f'{column} {kind}' for column, kind in columns)}, gone BOOLEAN, "
            f"PRIMARY KEY ({', '.join(KEYS[name])}) DELETE WHEN gone) USING csv;\n"
            for name, columns in self.columns.items()
        )

    def tables(self, number: int) -> dict[str, list[tuple]]:
        """Return the rows that each table has after a micro-batch."""
        rows_by_table: dict[str, list[tuple]] = {}
        for name, described in self.columns.items():
            names = [column for column, _ in described]
            places = [names.index(key) for key in KEYS[name]]
            rows: dict[tuple, tuple] = {}
            for batch in self.changes[: number + 1]:
                for row in batch[name]:
                    rows[tuple(row[place] for place in places)] = row
            rows_by_table[name] = [row[:-1] for row in rows.values() if not row[-1]]
        return rows_by_table


def drawn(count: int) -> MicroBatches:
    """Return the rows of all tables in micro-batches.

    A fifth of the rows of each next one comes early, is deleted before that, and comes again with it; a few rows of
    those before are deleted for good.
    """
    database = connection()
    database.execute("CALL dbgen(sf = 0.01)")
    draw, described = draws("tpch"), {}
    changes: list[dict[str, list[tuple]]] = [{name: [] for name in KEYS} for _ in range(count)]
    for name in KEYS:
        described[name] = columns(database, name)
        rows = database.execute(f"SELECT * FROM {name} WHERE {SAMPLES.get(name, 'true')} ORDER BY ALL").fetchall()
        draw.shuffle(rows)
        for number, batch in enumerate(changes):
            own = rows[number::count]
            batch[name] += [(*row, False) for row in own]
            if number == 0:
                continue
            before = changes[number - 1][name]
            early = [row for row in own if draw.random() < 0.2]
            if number > 1:
                changes[number - 2][name] += [(*row, False) for row in early]
                before += [(*row, True) for row in early]
            batch[name] += [(*row, True) for row in rows[number - 1 :: count] if draw.random() < 0.05]
    return MicroBatches(described, changes)


def at_rest(database: duckdb.DuckDBPyConnection, batches: MicroBatches, number: int) -> None:
    """Give a database the tables as they are after a micro-batch."""
    for name, rows in batches.tables(number).items():
        definitions = ", ".join(
            f"{column} {'VARCHAR' if kind == 'STRING' else kind}" for column, kind in batches.columns[name]
        )
        database.execute(f"CREATE OR REPLACE TABLE {name} ({definitions})")
        if rows:
            columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
            database.execute(
                f"INSERT INTO {name} SELECT {', '.join(f'unnest(${i + 1})' for i in range(len(columns)))}", columns
            )
