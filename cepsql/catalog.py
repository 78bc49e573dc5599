"""What names mean: the streams, tables and views that statements may read, the sinks that queries write to."""

from dataclasses import dataclass, field
from typing import Any

from cepsql.errors import ProgrammingError, Span, suggestion


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of a stream or table: its Spark SQL type, and the Spark SQL that computes it if it is not read."""

    name: str
    type: str
    expression: str | None = None


@dataclass(frozen=True)
class Watermark:
    """The event-time column and how long (microseconds) rows may come after later ones."""

    column: str
    delay: int


@dataclass(frozen=True)
class Source:
    """A stream or a bounded table that Spark reads: format and options as for spark.readStream or spark.read.

    late_rows: the table that holds the rows of this stream that queries do not use.
    late_of:   name of the stream whose late rows this table holds.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    format: str
    options: tuple[tuple[str, str], ...] = ()
    streaming: bool = True
    watermark: Watermark | None = None
    late_rows: "Source | None" = None
    late_of: str | None = None


@dataclass(frozen=True)
class View:
    """A named query: its text as the user wrote it, and what is known of the rows that it gives."""

    name: str
    sql: str
    columns: tuple[ColumnDefinition, ...]
    streaming: bool
    watermark: Watermark | None = None


@dataclass(frozen=True)
class Registered:
    """A DataFrame that a program gave a name to; `frame` is opaque here."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    frame: Any = field(compare=False, repr=False)
    streaming: bool = False
    watermark: Watermark | None = None


Relation = Source | View | Registered


@dataclass(frozen=True)
class Sink:
    """Where a query writes its rows: format and options of the writer.

    columns: what the sink takes, in this order; empty: whatever the query gives.
    options: as written; `${NAME}` and `${file:PATH}` in values are resolved only when the sink is opened.
    key:     the columns of PRIMARY KEY, by which a table is updated; empty: rows are only added.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    format: str
    options: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class RegisteredQuery:
    """A query that stands under a name: its text, and the sink that its rows go to.

    sink:    None: the rows go nowhere, and only its counts are kept.
    options: what ALTER QUERY ... SET gives, such as trigger and checkpoint.
    """

    name: str
    sink: str | None
    sql: str
    options: tuple[tuple[str, str], ...] = ()


class Catalog:
    """Relations by name; names are not case-sensitive."""

    def __init__(self):
        self._relations: dict[str, Relation] = {}

    def __iter__(self):
        return iter(self._relations.values())

    def find(self, name: str) -> Relation | None:
        """Return the relation of that name, or None."""
        return self._relations.get(name.lower())

    def get(self, name: str, span: Span | None = None) -> Relation:
        """Return the relation of that name.

        Raises ProgrammingError, pointing at `span`, if there is none.
        """
        relation = self.find(name)
        if relation is None:
            names = [r.name for r in self]
            raise ProgrammingError(f"there is no stream, table or view {name}", span, suggestion(name, names, "known"))
        return relation

    def add(
        self, relation: Relation, replace: bool = False, span: Span | None = None, late_span: Span | None = None
    ) -> None:
        """Enter a relation, and with a stream the table of its late rows, whose name stands at `late_span`.

        Raises ProgrammingError if a name is taken and `replace` is false, if the table of late rows of another stream
        has it, or if two columns have one name.
        """
        names = [column.name.lower() for column in relation.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ProgrammingError(f"two columns of {relation.name} are named {twice}", span, "AS gives another name")
        if not replace and self.find(relation.name):
            raise ProgrammingError(
                f"{relation.name} exists already", span, "CREATE OR REPLACE replaces it, DROP removes it"
            )
        self._check_not_late(relation.name, span)
        late = _late_table(relation)
        if late is not None:
            before = _late_table(self.find(relation.name))
            own = before is not None and before.name.lower() == late.name.lower()
            if late.name.lower() == relation.name.lower() or (self.find(late.name) and not own):
                raise ProgrammingError(
                    f"{late.name} exists already", late_span, "late rows go to a table of their own, of a new name"
                )
        if self.find(relation.name):
            self.remove(relation.name)
        for added in (relation, late):
            if added is not None:
                self._relations[added.name.lower()] = added

    def remove(self, name: str, span: Span | None = None) -> None:
        """Remove a relation that `get` finds, and with a stream the table of its late rows (no files).

        Raises ProgrammingError for a table of late rows, which goes with its stream.
        """
        self._check_not_late(name, span)
        late = _late_table(self._relations.pop(name.lower()))
        if late is not None:
            del self._relations[late.name.lower()]

    def _check_not_late(self, name: str, span: Span | None) -> None:
        table = self.find(name)
        if isinstance(table, Source) and table.late_of is not None:
            hint = f"DROP STREAM {table.late_of} removes both definitions"
            raise ProgrammingError(f"{name} holds the late rows of {table.late_of}", span, hint)


def _late_table(relation: Relation | None) -> Source | None:
    return relation.late_rows if isinstance(relation, Source) else None
