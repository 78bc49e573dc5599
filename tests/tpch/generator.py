"""TPC-H's generator of rows and its queries, as DuckDB has them."""

from functools import cache
from pathlib import Path

import duckdb
import duckdb_extension_tpch

KEYS = {
    "customer": ("c_custkey",), "lineitem": ("l_orderkey", "l_linenumber"), "nation": ("n_nationkey",),
    "orders": ("o_orderkey",), "part": ("p_partkey",), "partsupp": ("ps_partkey", "ps_suppkey"),
    "region": ("r_regionkey",), "supplier": ("s_suppkey",),
}  # fmt: skip
"""The tables, and the columns of their keys."""

_LINES_OF_SCALE_1 = 6_000_000
_TYPES = {"VARCHAR": "STRING", "INTEGER": "INT"}


def connection() -> duckdb.DuckDBPyConnection:
    """Return a database with the extension that knows the tables and queries."""
    folder = Path(duckdb_extension_tpch.__file__).parent
    (file,) = folder.glob(f"extensions/v{duckdb.__version__}/tpch.duckdb_extension")
    opened = duckdb.connect()
    opened.execute(f"LOAD '{file}'")
    return opened


def generated(lines: int) -> duckdb.DuckDBPyConnection:
    """Return a database with the tables, of which that of line items has about so many rows, the others accordingly."""
    database = connection()
    database.execute(f"CALL dbgen(sf = {lines / _LINES_OF_SCALE_1})")
    return database


def definitions() -> dict[str, str]:
    """Return the columns of each table with their types, as they stand in CREATE."""
    database = generated(0)
    return {name: ", ".join(map(" ".join, columns(database, name))) for name in KEYS}


def columns(database: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    """Return the columns of a table with their types, as Spark SQL."""
    described = database.execute(f"DESCRIBE {table}").fetchall()
    return [(row[0], _TYPES.get(row[1], row[1])) for row in described]


@cache
def queries() -> dict[int, str]:
    """Return the texts of the queries by number, without the ORDER BY of those without LIMIT."""
    rows = connection().execute("SELECT query_nr, query FROM tpch_queries()").fetchall()
    return {number: _without_order(text.strip().rstrip(";")) for number, text in rows}


def _without_order(text: str) -> str:
    begin = text.rfind("ORDER BY")
    return text if "LIMIT" in text[begin:] else text[:begin] if begin >= 0 else text
