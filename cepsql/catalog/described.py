"""The answer of DESCRIBE EXTENDED about a definition, as rows of text."""

from collections.abc import Sequence

from cepsql.catalog import Definition, MaterializedView, Registered, Relation, Sink, Source, View
from cepsql.catalog.catalog_names import kind, listed
from cepsql.catalog.create_text import interval_text, shown_option, watermark_text

Rows = tuple[tuple[str, str], ...]


def described(definition: Relation | Sink, dependents: Sequence[Definition]) -> Rows:
    """Return properties of a stream, table, view or sink and their values, without secrets.

    dependents: the definitions that read or write it.
    """
    rows = [("name", definition.name), ("kind", kind(definition))]
    if isinstance(definition, View):
        rows += [("query", " ".join(definition.sql.split())), ("reads", ", ".join(definition.reads))]
    elif isinstance(definition, MaterializedView):
        rows += [("query", " ".join(definition.query.sql.split())), ("reads", ", ".join(definition.reads))]
        rows += [("view group", definition.group)] if definition.group is not None else []
        rows += [(f"option {name}", shown_option(name, text)) for name, text in definition.options]
        rows += [("primary key", ", ".join(definition.key) or "none: rows are only added")]
        rows += [("indexes", ", ".join(definition.indexes))] if definition.indexes else []
    elif isinstance(definition, Registered):
        rows.append(("format", "DataFrame of this process"))
    else:
        rows += _storage(definition)
    for column in definition.columns:
        origin = getattr(column, "expression", None)
        rows.append((f"column {column.name}", column.type.lower() + (f" AS {origin}" if origin else "")))
    if isinstance(definition, Sink):
        rows.append(("primary key", ", ".join(definition.key) or "none: rows are only added"))
    elif definition.streaming:
        mark = definition.watermark
        rows.append(("watermark", watermark_text(mark) if mark is not None else "none: rows have no event time"))
        if mark is not None and mark.ahead is None:
            rows.append(("clocks that run ahead", "move the watermark; AHEAD AT MOST sets their rows aside"))
    if isinstance(definition, Source) and definition.backfill is not None:
        rows.append(("comes after", f"{definition.backfill.history.name} until {definition.backfill.until}"))
    if isinstance(definition, Source) and definition.refresh is not None:
        rows.append(("read again", f"every {interval_text(definition.refresh)}"))
    if isinstance(definition, Source) and definition.streaming:
        rows.append(("late and malformed rows", _late(definition.late_rows)))
    return (*rows, ("used by", listed(list(dependents)) if dependents else "nothing"))


def _storage(definition: Source | Sink) -> list[tuple[str, str]]:
    rows = [("format", definition.format)]
    if isinstance(definition, Source) and definition.value is not None:
        rows.append(("records", definition.value.name))
        rows += [(f"record option {name}", shown_option(name, text)) for name, text in definition.value.options]
    return [*rows, *((f"option {name}", shown_option(name, text)) for name, text in definition.options)]


def _late(table: Source | None) -> str:
    if table is None:
        return "counted, not kept; LATE ROWS INTO keeps them"
    path = dict(table.options).get("path")
    return f"in table {table.name}" + (f", {path}" if path else "")
