"""The rows that a view had as of an earlier batch: the current rows, with the changes of later batches undone."""

from collections.abc import Sequence

import pyarrow as pa
import sqlalchemy as sa

from cepsql.views.journal import GONE, PLACE, changes_table
from cepsql.views.snapshot import Wanted, table_name, where_clause
from cepsql.views.stored_values import cell_table


def rows_at(connection: sa.Connection, wanted: Wanted, last: int) -> pa.Table:
    """Return rows of a view as of a kept batch; `last` is the place of its last change."""
    view = wanted.view
    name = connection.dialect.identifier_preparer.quote_identifier
    table = table_name(connection, view, view.name)
    # Without columns, rows are only counted.
    selected = [name(column) for column in wanted.columns or (view.view.columns[0].name,)]
    where, values = where_clause(wanted.conditions, name)
    undone = table_name(connection, view, changes_table(view.name))
    values |= {"last": last}
    if view.view.key:
        ask = _by_key(table, undone, selected, [name(column) for column in view.view.key], where)
    else:
        ask = _by_all(table, undone, selected, [name(column.name) for column in view.view.columns], where)
    return cell_table(connection.execute(sa.text(ask), values).all(), view.typed(wanted.columns))


def _by_key(table: str, changes: str, selected: Sequence[str], key: Sequence[str], where: str) -> str:
    """Return the SQL of rows with a key: the first change of a key since has the row as it was before."""
    keys = ", ".join(key)
    same = " AND ".join(f"f.{name} IS NOT DISTINCT FROM v.{name}" for name in key)
    first = f"SELECT {keys}, min({PLACE}) AS place FROM {changes} WHERE {PLACE} > :last GROUP BY {keys}"
    columns, further = ", ".join(selected), f" AND ({where.removeprefix(' WHERE ')})" if where else ""
    return (
        f"WITH f AS ({first}) "
        f"SELECT {columns} FROM {table} AS v WHERE NOT EXISTS (SELECT 1 FROM f WHERE {same}){further} "
        f"UNION ALL SELECT {columns} FROM {changes} WHERE {PLACE} IN (SELECT place FROM f) AND {GONE}{further}"
    )


def _by_all(table: str, changes: str, selected: Sequence[str], columns: Sequence[str], where: str) -> str:
    """Return the SQL of rows without a key: the current rows and those that left since, less those that entered."""
    every = ", ".join(columns)
    numbered = f"row_number() OVER (PARTITION BY {every}) AS cepsql_number"
    since = f"SELECT {every} FROM {changes} WHERE {PLACE} > :last AND"
    there = f"SELECT {every} FROM {table} UNION ALL {since} {GONE}"
    came = f"SELECT {every}, {numbered} FROM ({since} NOT {GONE}) AS b"
    version_rows = f"SELECT {every}, {numbered} FROM ({there}) AS a EXCEPT {came}"
    return f"SELECT {', '.join(selected)} FROM ({version_rows}) AS kept{where}"
