"""Queries of clients over PostgreSQL's own catalog: SQLite answers, over the same rows, if pg-mimic finds nothing.

JDBC's lists of tables and columns are such queries.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pg_mimic
from pg_mimic import middleware
from pg_mimic.catalog import _build_pg_catalog, _user_schema
from pg_mimic.catalog_data import PG_CATALOG_SCHEMA
from pg_mimic.session import Statement, StaticStatement, statement_from_rows
from sqlglot import exp
from sqlglot.errors import SqlglotError

_FURTHER = {
    "pg_database": ("oid", "datname", "datdba", "encoding", "datcollate", "datctype", "datallowconn", "datistemplate"),
    "pg_description": ("objoid", "classoid", "objsubid", "description"),
    "pg_enum": ("oid", "enumtypid", "enumsortorder", "enumlabel"),
    "pg_proc": ("oid", "proname", "pronamespace", "prorettype", "prokind"),
    "pg_type": ("typtypmod", "typnotnull", "typinput"),
    "pg_attribute": ("attlen",),
    "pg_settings": ("name", "setting"),
}
"""Tables, and columns of tables, that pg-mimic does not have."""

_UNKNOWN = (
    "pg_get_expr",
    "obj_description",
    "col_description",
    "shobj_description",
    "pg_get_viewdef",
    "pg_get_userbyid",
)
_TRUE = ("pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible", "has_table_privilege")
_PATH = "current_schemas"
_TIMES = {"timestamp with time zone": pg_mimic.TIMESTAMPTZ, "timestamp without time zone": pg_mimic.TIMESTAMP}
"""Types that pg-mimic knows by other names."""


async def client_catalog(context: middleware.MiddlewareContext) -> Statement | None:
    """Answer a query over pg_catalog with pg-mimic, or with SQLite if that finds nothing; None for other queries."""
    answer = await middleware.pg_catalog(context)
    if not isinstance(answer, StaticStatement) or answer._rows:
        return answer
    assert context.expression is not None
    catalog = _build_pg_catalog(await _user_schema(context.connection))[1]["pg_catalog"]
    for column in catalog["pg_attribute"]:
        column["atttypid"] = _TIMES.get(column["attformattype"], column["atttypid"])
    try:
        names, rows = _computed(_as_sqlite(context.expression), catalog, context.connection.database)
    except (sqlite3.Error, SqlglotError, ValueError):
        # It asks for something that no view has, such as indexes.
        return answer
    return statement_from_rows(context.sql, names, rows) if rows else answer


def _as_sqlite(query: exp.Expr) -> str:
    """Return a query over pg_catalog as SQLite reads it."""
    query = query.copy()
    for table in query.find_all(exp.Table):
        table.set("db", None)
    for element in list(query.find_all(exp.Bracket)):
        if any(str(call.this).lower() == _PATH for call in element.find_all(exp.Anonymous)):
            element.replace(exp.Literal.string("public"))
    for equal in list(query.find_all(exp.EQ)):
        listed = equal.expression.this if isinstance(equal.expression, exp.Any) else None
        listed = listed.unnest() if listed is not None else None
        if isinstance(listed, exp.Literal) and listed.this.startswith("{"):
            values = [exp.Literal.string(part.strip('"')) for part in listed.this.strip("{}").split(",")]
            equal.replace(exp.In(this=equal.this, expressions=values))
    for qualified in list(query.find_all(exp.Dot)):
        qualified.replace(qualified.expression)
    for cast in list(query.find_all(exp.Cast)):
        kind = cast.to.sql(dialect="postgres").lower()
        if "." in kind or kind.startswith("reg"):
            cast.replace(cast.this)
    return query.sql(dialect="sqlite")


def _computed(
    sql: str, catalog: Mapping[str, Sequence[Mapping[str, Any]]], database: str
) -> tuple[list[str], list[tuple]]:
    """Return the names of the columns of a query, and its rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        names = {row["oid"]: row["typname"] for row in catalog["pg_type"]}
        connection.create_function("REGEXP", 2, _matches)
        connection.create_function("format_type", 2, lambda oid, _: names.get(oid))
        connection.create_function("pg_encoding_to_char", 1, lambda _: "UTF8")
        for name in _UNKNOWN:
            connection.create_function(name, -1, lambda *_: None)
        for name in _TRUE:
            connection.create_function(name, -1, lambda *_: True)
        for name in {*catalog, *_FURTHER}:
            rows = list(catalog.get(name, ()))
            if name == "pg_database":
                rows = [{"oid": 1, "datname": database, "datallowconn": True, "datistemplate": False}]
            columns = list(dict.fromkeys([*PG_CATALOG_SCHEMA["pg_catalog"].get(name, ()), *_FURTHER.get(name, ())]))
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            values = [tuple(row.get(column) for column in columns) for row in rows]
            connection.executemany(f"INSERT INTO {name} VALUES ({places})", values)
        cursor = connection.execute(sql)
        return [column[0] for column in cursor.description], cursor.fetchall()


def _matches(pattern: str | None, text: str | None) -> bool | None:
    return None if pattern is None or text is None else re.search(pattern, text) is not None
