"""What names mean: the streams, tables and views that statements may read, the sinks that queries write to."""

from dataclasses import dataclass, field
from typing import Any

from cepsql.render.readable import Readable


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of a stream or table: its Spark SQL type, and where it comes from if it is not read like the others.

    expression: the Spark SQL that computes it.
    metadata:   what it holds of the record that carries the row, such as the offset in Kafka.
    """

    name: str
    type: str
    expression: str | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class Watermark:
    """The event-time column and how long (microseconds) rows may come after later ones.

    heartbeat:   after how long without rows (microseconds of processing time) event time goes on with the clock; None:
                 it waits for rows.
    ahead:       how far (microseconds) an event time may lie ahead of the reference; rows further ahead are set aside.
                 None: any distance.
    reference:   the Spark SQL of what `ahead` is measured from; None: the time of the micro-batch.
    producer:    the column that tells who made a row; the slowest producer decides. None: all rows are of one.
    idle:        after how long without rows (microseconds of processing time) a producer is not waited for.
    punctuation: the Spark SQL of a condition under which a row is no data, but says that nothing earlier will come.
    late_alert:  above which share of late rows, between 0 and 1, an alert is raised; None: at none.
    """

    column: str
    delay: int
    heartbeat: int | None = None
    ahead: int | None = None
    reference: str | None = None
    producer: str | None = None
    idle: int | None = None
    punctuation: str | None = None
    late_alert: float | None = None


@dataclass(frozen=True)
class ValueFormat:
    """How the value of a record holds the columns of a row: json, csv, avro or debezium, and the options of that."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Backfill:
    """The rows that come before those of a stream: those of a table with an event time before `until`, Spark SQL of a
    constant. Of the stream come those from then on."""

    history: "Source"
    until: str


class _Definition(Readable):
    """Shows the statement that makes it, without secrets."""

    def __str__(self) -> str:
        from cepsql.catalog.create_text import create_text

        assert isinstance(self, Source | View | Sink | RegisteredQuery | MaterializedView | ViewGroup)
        return create_text(self)


@dataclass(frozen=True, repr=False)
class Source(_Definition):
    """A stream or a bounded table that Spark reads: format and options as for spark.readStream or spark.read.

    value:     how the values of records hold rows, None where the format says it all.
    late_rows: the table that holds the rows of this stream that queries do not use.
    late_of:   name of the stream whose late rows this table holds.
    key:       the columns of PRIMARY KEY: a row is the new version of the one with this key; empty: rows only add.
    deletion:  the Spark SQL of a condition under which a row says that the one with its key is gone.
    backfill:  the rows that come before those of this stream.
    refresh:   how often, in microseconds, a standing query reads this table again; None: Spark decides what it sees.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    format: str
    options: tuple[tuple[str, str], ...] = ()
    streaming: bool = True
    watermark: Watermark | None = None
    late_rows: "Source | None" = None
    late_of: str | None = None
    value: ValueFormat | None = None
    key: tuple[str, ...] = ()
    deletion: str | None = None
    refresh: int | None = None
    backfill: Backfill | None = None


@dataclass(frozen=True, repr=False)
class View(_Definition):
    """A named query: its text as the user wrote it, and what is known of the rows that it gives.

    reads: the names in its text that are of the catalog, lower case.
    """

    name: str
    sql: str
    columns: tuple[ColumnDefinition, ...]
    streaming: bool
    watermark: Watermark | None = None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Registered:
    """A DataFrame that a program gave a name to; `frame` is opaque here."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    frame: Any = field(compare=False, repr=False)
    streaming: bool = False
    watermark: Watermark | None = None


@dataclass(frozen=True, repr=False)
class Sink(_Definition):
    """Where a query writes its rows.

    columns: what the sink takes, in this order; empty: whatever the query gives.
    options: as written; `${NAME}` and `${file:PATH}` in values are resolved only when the sink is opened.
    key:     the columns of PRIMARY KEY, by which a table is updated; empty: rows are only added.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    format: str
    options: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class RegisteredQuery(_Definition):
    """A query that stands under a name: its text, and the sink that its rows go to.

    sink:    None: the rows go nowhere, and only its counts are kept.
    options: what ALTER QUERY ... SET gives, such as trigger and checkpoint.
    reads:   the names in its text that are of the catalog, lower case.
    id:      tells it from others that have had its name; its checkpoint folder goes by it.
    views:   of the query of a group of views the names of these, in the order of their texts in `sql`.
    """

    name: str
    sink: str | None
    sql: str
    options: tuple[tuple[str, str], ...] = ()
    reads: tuple[str, ...] = ()
    id: str = ""
    views: tuple[str, ...] | None = None


@dataclass(frozen=True, repr=False)
class ViewGroup(_Definition):
    """Materialized views that one query keeps, which is called as the group: each micro-batch is one transaction.

    options: of the query, as written.
    store:   options of the store, as written, which all views have.
    id:      tells it from others that have had its name; the checkpoint goes by it.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()
    store: tuple[tuple[str, str], ...] = ()
    id: str = ""


@dataclass(frozen=True, repr=False)
class MaterializedView(_Definition):
    """A standing query and the table that holds its rows, which queries read as one at rest.

    query:      what runs, under the name of the view; in a group only its text counts.
    columns:    of the rows, with Spark's types.
    key:        the columns that tell rows apart; empty: rows are only added.
    indexes:    further columns by which the store finds rows.
    options:    of the store, as written: store, retain, and those of a database.
    event_time: the column by which `retain` tells how old a row is.
    id:         tells it from views of its name in other catalogs that have the same store.
    adds:       whether rows are only added, so that none replaces another; views of before do not say it.
    delay:      how long (microseconds) after a later row of the view one may come, by event time.
    group:      the name of the group whose query keeps it; None: its own query does.
    """

    name: str
    query: RegisteredQuery
    columns: tuple[ColumnDefinition, ...]
    key: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    event_time: str | None = None
    id: str = ""
    adds: bool = False
    delay: int = 0
    group: str | None = None

    @property
    def streaming(self) -> bool:
        """Whether its rows are a stream: who reads it gets those that are there."""
        return False

    @property
    def watermark(self) -> None:
        """The event time of a stream, which it is not."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """The names in its text that are of the catalog, lower case."""
        return self.query.reads


Relation = Source | View | MaterializedView | Registered
Definition = Relation | Sink | RegisteredQuery | ViewGroup
