"""What names mean: the streams, tables and views that statements may read."""

from dataclasses import dataclass, field

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
    """A stream or a bounded table that Spark reads: format and options as for spark.readStream or spark.read."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    format: str
    options: tuple[tuple[str, str], ...] = ()
    streaming: bool = True
    watermark: Watermark | None = None


@dataclass(frozen=True)
class View:
    """A named query: its text as the user wrote it, and the columns that it gives.

    matched: its rows are matches of a stream; marked: and markers can come with them.
    """

    name: str
    sql: str
    columns: tuple[ColumnDefinition, ...]
    streaming: bool
    watermark: Watermark | None = None
    matched: bool = False
    marked: bool = False


@dataclass(frozen=True)
class Registered:
    """A DataFrame that a program gave a name to; `frame` is opaque here."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    frame: object = field(compare=False, repr=False)
    streaming: bool = False
    watermark: Watermark | None = None


Relation = Source | View | Registered


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

    def add(self, relation: Relation, replace: bool = False, span: Span | None = None) -> None:
        """Enter a relation.

        Raises ProgrammingError if the name is taken and `replace` is false, or if two columns have one name.
        """
        names = [column.name.lower() for column in relation.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ProgrammingError(f"two columns of {relation.name} are named {twice}", span, "AS gives another name")
        if not replace and self.find(relation.name):
            raise ProgrammingError(
                f"{relation.name} exists already", span, "CREATE OR REPLACE replaces it, DROP removes it"
            )
        self._relations[relation.name.lower()] = relation

    def remove(self, name: str) -> None:
        """Remove a relation that `get` finds."""
        del self._relations[name.lower()]
