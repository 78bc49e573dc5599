"""The CREATE statement of a definition, which SHOW CREATE shows."""

import re

from cepsql.base.secrets import is_secret
from cepsql.catalog import (
    ColumnDefinition,
    MaterializedView,
    RegisteredQuery,
    Sink,
    Source,
    View,
    ViewGroup,
    Watermark,
)
from cepsql.catalog.references import has_references, writes_secret

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN_KEY = re.compile(r"[a-z_][a-z0-9_]*([.-][a-z0-9_]+)*|spark(\.\w+)+", re.ASCII)
_UNITS = (("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000), ("MICROSECOND", 1))


def create_text(definition: Source | View | Sink | RegisteredQuery | MaterializedView | ViewGroup) -> str:
    """Return the CREATE statement of a definition, with stars for secrets that are not references.

    >>> print(create_text(Sink("out", (ColumnDefinition("id", "INT"),), "json", (("path", "/x"),), ("id",))))
    CREATE SINK out (
      id INT,
      PRIMARY KEY (id)
    ) USING json OPTIONS (
      path '/x'
    )
    """
    name = quoted_name(definition.name)
    match definition:
        case Source():
            kind = "STREAM" if definition.streaming else "TABLE"
            mark = [watermark_text(definition.watermark)] if definition.watermark else []
            mark += [_primary_key(definition)] if definition.key else []
            text = f"CREATE {kind} {name}{_columns(definition.columns, mark)}{_using(definition)}"
            if definition.value is not None:
                text += f" FORMAT {_quoted(definition.value.name)}{_options(definition.value.options)}"
            if definition.refresh is not None:
                text += f"\nREFRESH EVERY {interval_text(definition.refresh)}"
            if definition.backfill is not None:
                text += (
                    f"\nBACKFILL FROM {quoted_name(definition.backfill.history.name)} UNTIL {definition.backfill.until}"
                )
            late = definition.late_rows
            return text if late is None else f"{text}\nLATE ROWS INTO {quoted_name(late.name)}{_using(late)}"
        case View():
            return f"CREATE VIEW {name} AS\n{definition.sql}"
        case MaterializedView():
            parts = [f" {words} ({', '.join(map(_quoted, names))})" for words, names in (
                ("PRIMARY KEY", definition.key), ("INDEX", definition.indexes)) if names]  # fmt: skip
            own, group = definition.options, ""
            if definition.group is not None:
                # The store is that of the group.
                own = tuple(option for option in own if option[0] == "retain")
                group = f" IN {quoted_name(definition.group)}"
            options = _options((*own, *definition.query.options))
            return f"CREATE MATERIALIZED VIEW {name}{group}{''.join(parts)}{options} AS\n{definition.query.sql}"
        case ViewGroup():
            return f"CREATE VIEW GROUP {name}{_options((*definition.store, *definition.options))}"
        case Sink():
            key = [f"PRIMARY KEY ({', '.join(map(_quoted, definition.key))})"] if definition.key else []
            return f"CREATE SINK {name}{_columns(definition.columns, key)}{_using(definition)}"
        case RegisteredQuery():
            into = f" INTO {quoted_name(definition.sink)}" if definition.sink else ""
            return f"CREATE QUERY {name}{into}{_options(definition.options)} AS\n{definition.sql}"


def _columns(columns: tuple[ColumnDefinition, ...], further: list[str]) -> str:
    lines = [_column(column) for column in columns] + further
    return " (\n  " + ",\n  ".join(lines) + "\n)" if lines else ""


def _primary_key(definition: Source) -> str:
    deletion = "" if definition.deletion is None else f" DELETE WHEN {definition.deletion}"
    return f"PRIMARY KEY ({', '.join(map(_quoted, definition.key))}){deletion}"


def _column(column: ColumnDefinition) -> str:
    origin = f" AS {column.expression}" if column.expression else ""
    if column.metadata:
        origin = f" METADATA FROM {_text(column.metadata)}"
    return f"{_quoted(column.name)} {column.type}{origin}"


def watermark_text(mark: Watermark) -> str:
    """Return the WATERMARK clause of a watermark."""
    name = _quoted(mark.column)
    delay = f" - {interval_text(mark.delay)}" if mark.delay else ""
    return " ".join([f"WATERMARK FOR {name} AS {name}{delay}", *watermark_clauses(mark)])


def watermark_clauses(mark: Watermark) -> list[str]:
    """Return the clauses after the event time and its delay."""
    clauses = []
    if mark.ahead is not None:
        clauses.append(
            f"AHEAD AT MOST {interval_text(mark.ahead)}" + (f" OF {mark.reference}" if mark.reference else "")
        )
    if mark.producer is not None:
        clauses.append(f"BY {_quoted(mark.producer)}")
    if mark.idle is not None:
        clauses.append(f"WITH IDLE TIMEOUT {interval_text(mark.idle)}")
    if mark.punctuation is not None:
        clauses.append(f"WITH PUNCTUATION WHEN {mark.punctuation}")
    if mark.heartbeat is not None:
        clauses.append(f"WITH HEARTBEAT {interval_text(mark.heartbeat)}")
    if mark.late_alert is not None:
        clauses.append(f"WITH LATE ALERT ABOVE {mark.late_alert * 100:.12g} PERCENT")
    return clauses


def interval_text(micros: int) -> str:
    """Return a constant interval in the largest unit that divides it."""
    unit, size = next((unit, size) for unit, size in _UNITS if micros % size == 0)
    return f"INTERVAL '{micros // size}' {unit}"


def _using(definition: Source | Sink) -> str:
    return f" USING {_quoted(definition.format)}{_options(definition.options)}"


def _options(options: tuple[tuple[str, str], ...]) -> str:
    lines = [f"{_key(name)} {_text(shown_option(name, value))}" for name, value in options]
    return " OPTIONS (\n  " + ",\n  ".join(lines) + "\n)" if lines else ""


def shown_option(name: str, value: str) -> str:
    """Return the value of an option for display, a secret as stars."""
    secret = writes_secret(name, value) or (is_secret(name) and not has_references(value))
    return "*****" if secret else value


def quoted_name(name: str) -> str:
    """Return a name of the catalog as SQL, with backquotes around parts that need them."""
    return ".".join(map(_quoted, name.split(".")))


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
