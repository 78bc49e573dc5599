"""Statements as frozen data: the dialect's shape is ours, plain SQL inside is sqlglot expressions with positions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from cepsql.catalog import ColumnDefinition
from cepsql.errors import Span
from cepsql.language.as_of_versions import Version
from cepsql.pattern.ir import Pattern

NAVIGATION = {"FIRST": "__FIRST", "LAST": "__LAST", "RUNNING": "__RUNNING", "FINAL": "__FINAL"}
"""How calls of the match clause are spelled in its expressions."""


PICTURES = ("dot", "mermaid")
"""Forms in which EXPLAIN PATTERN AS draws a pattern: Graphviz and Mermaid text."""


@dataclass(frozen=True)
class Name:
    """A name and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True)
class MeasureClause:
    """`expression AS name`."""

    expression: exp.Expr
    name: Name


@dataclass(frozen=True)
class Rows:
    """ONE ROW or ALL ROWS PER MATCH; `empty` is "show", "omit" or "unmatched"."""

    all: bool = False
    empty: str | None = None
    timeouts: bool = False
    span: Span | None = None


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP: target is "past last row", "to next row", "to first" or "to last" (a variable)."""

    target: str = "past last row"
    variable: Name | None = None
    span: Span | None = None


@dataclass(frozen=True)
class FrameAhead:
    """ROWS BETWEEN CURRENT ROW AND n FOLLOWING: `after` is n, None for UNBOUNDED."""

    after: int | None


@dataclass(frozen=True)
class MatchClause:
    """One MATCH_RECOGNIZE, or the row pattern of a window.

    In its expressions FIRST, LAST, RUNNING and FINAL are the functions named in NAVIGATION, since sqlglot's own FIRST
    and LAST lose the offset.

    name:   the placeholder table that stands for it in the query around it.
    input:  SELECT * FROM the relation that it follows.
    pattern_names, defines, subsets: keep the positions of variables.
    frame:  of a window, in which each row gives one row; None for a MATCH_RECOGNIZE.
    calls:  with a frame, how many of the measures, the last ones, are functions of the window.
    carried: with a frame, the columns of the input that come out beside the measures.
    beside: with a frame, the row patterns of other windows with the same keys and order.
    """

    name: str
    input: exp.Query
    partition_by: tuple[exp.Expr, ...]
    order_by: tuple[exp.Ordered, ...]
    measures: tuple[MeasureClause, ...]
    rows: Rows
    skip: Skip
    pattern: Pattern
    pattern_names: dict[str, Span] = field(compare=False)
    within: exp.Expr | None
    subsets: tuple[tuple[Name, tuple[Name, ...]], ...]
    defines: tuple[tuple[Name, exp.Expr], ...]
    span: Span = field(compare=False)
    frame: FrameAhead | None = None
    calls: int = 0
    carried: tuple[str, ...] = ()
    beside: tuple["MatchClause", ...] = ()


@dataclass(frozen=True)
class WindowPattern:
    """The row pattern of OVER (... PATTERN ...), or of WINDOW name AS (... PATTERN ...).

    name:   the placeholder window that stands for it in the query.
    base:   the window that it goes on from, None without one.
    clause: what it says; its input is made of the SELECT that it stands in.
    """

    name: str
    base: Name | None
    clause: MatchClause


@dataclass(frozen=True)
class DeduplicateClause:
    """One DEDUPLICATE: the first row of each key within a time. `name` and `input` as in `MatchClause`."""

    name: str
    input: exp.Query
    partition_by: tuple[exp.Expr, ...]
    order_by: tuple[exp.Ordered, ...]
    within: exp.Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class FillItem:
    """`value [AS name]`: what a column has, or without a name all others."""

    value: exp.Expr
    name: Name | None


@dataclass(frozen=True)
class FillClause:
    """FILL (... [FOR AT MOST limit]) after a window: the rows of windows in which nothing came."""

    items: tuple[FillItem, ...]
    limit: exp.Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class WindowClause:
    """One WINDOW TUMBLING (...), or TABLE(TUMBLE(...)): rows, each with the windows of event time that it lies in.

    `name` and `input` as in `MatchClause`. Lengths are constant intervals.

    kind: "tumbling", "hopping", "cumulating" or "session".
    time: the column with the event time, None for that of the relation.
    size: how long windows are, or the greatest gap in a session.
    step: how often hopping windows begin, or by how much cumulating ones grow; None for the others.
    offset: what windows begin later than counted from the epoch.
    partition_by: what has sessions of its own; None where the query around it decides.
    timed: it gives window_time, too.
    fill: FILL, None without it.
    """

    name: str
    input: exp.Query
    kind: str
    time: exp.Column | None
    size: exp.Expr
    step: exp.Expr | None
    offset: exp.Expr | None
    partition_by: tuple[exp.Expr, ...] | None
    timed: bool
    span: Span = field(compare=False)
    fill: FillClause | None = None


@dataclass(frozen=True)
class EmitClause:
    """EMIT ...: when the groups of windows come out.

    kind:     "close" (once, when their window is over), "changes" (whenever they change) or "every" (as they are then,
              each time that event time has gone on by an interval).
    every:    that interval.
    lateness: how long after that a row may come that still counts.
    """

    kind: str
    every: exp.Expr | None
    lateness: exp.Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class EmittedClause:
    """A subquery or a view with EMIT at its end: `input`, whose groups come out as `emit` says. `name` as in
    `MatchClause`."""

    name: str
    input: exp.Query
    emit: EmitClause

    @property
    def span(self) -> Span:
        """Where EMIT stands."""
        return self.emit.span


Clause = MatchClause | DeduplicateClause | WindowClause | EmittedClause
"""What makes another relation of one, as it is written: most follow the relation."""


@dataclass(frozen=True)
class ReadPoint:
    """AT WATERMARK, AFTER 'token' and FRESH WITHIN INTERVAL ...: as of when a query reads materialized views.

    at_watermark: all of them as of the least of their watermarks.
    after:        what INSERT INTO gave, which they must have taken.
    fresh:        how old they may be.
    versions:     those that are read as of a constant time: FOR SYSTEM_TIME AS OF.
    """

    at_watermark: bool
    after: str | None
    fresh: exp.Expr | None
    span: Span = field(compare=False)
    versions: tuple[Version, ...] = ()


@dataclass(frozen=True)
class WaitFor:
    """WAIT FOR name UNTIL 'token' TIMEOUT INTERVAL ...: until a materialized view has taken what a token tells."""

    name: Name
    token: str
    timeout: exp.Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class ParsedQuery:
    """A query in which every MATCH_RECOGNIZE, DEDUPLICATE and WINDOW (...) is a placeholder table.

    operators: these clauses, inner ones first.
    text:      where its text stands in `sql`; `inputs` says the same of what each operator reads, and `operator_places`
               of each operator with what it reads, without its alias.
    parameters: the parameters in the text; an empty one stands for those whose place is not known.
    values:    SQL of the parameters' values, once they are bound.
    emit:      its EMIT clause.
    point:     as of when it reads views.
    windows:   the windows with a row pattern.
    respelt:   the characters at which the text has words that Spark does not read, unlike the expression.
    """

    expression: exp.Query
    operators: tuple[Clause, ...]
    sql: str
    span: Span
    text: Span | None = field(default=None, compare=False)
    inputs: Mapping[str, Span] = field(default_factory=dict, compare=False)
    operator_places: Mapping[str, Span] = field(default_factory=dict, compare=False)
    parameters: tuple[Name, ...] = field(default=(), compare=False)
    values: Mapping[str, str] = field(default_factory=dict, compare=False)
    emit: EmitClause | None = None
    windows: tuple[WindowPattern, ...] = ()
    respelt: tuple[int, ...] = field(default=(), compare=False)
    point: ReadPoint | None = None


@dataclass(frozen=True)
class LateRows:
    """LATE ROWS INTO name USING format OPTIONS (...)."""

    name: Name
    format: Name
    options: tuple[tuple[str, str], ...] = field(repr=False)
    span: Span = field(compare=False)


@dataclass(frozen=True)
class BackfillClause:
    """BACKFILL FROM history UNTIL expression."""

    history: Name
    until: exp.Expr


@dataclass(frozen=True)
class ValueClause:
    """FORMAT format OPTIONS (...): how the values of records are read."""

    format: Name
    options: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True)
class StartClause:
    """FROM EARLIEST, LATEST or TIMESTAMP '...': which records are read; `time` is the text of the last."""

    position: str
    time: str | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class StreamKey:
    """PRIMARY KEY (names) DELETE WHEN condition, of a stream whose rows are changes of a table."""

    names: tuple[Name, ...]
    deletion: exp.Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class WatermarkClause:
    """WATERMARK FOR column AS expression, with the clauses that may follow.

    ahead:       AHEAD AT MOST ...; `reference` is what stands after OF.
    producer:    BY ...; `idle` is the interval of WITH IDLE TIMEOUT.
    punctuation: the condition of WITH PUNCTUATION WHEN.
    heartbeat:   the interval of WITH HEARTBEAT.
    late_alert:  the number of WITH LATE ALERT ABOVE ... PERCENT.
    """

    column: Name
    expression: exp.Expr
    ahead: exp.Expr | None = None
    reference: exp.Expr | None = None
    producer: Name | None = None
    idle: exp.Expr | None = None
    punctuation: exp.Expr | None = None
    heartbeat: exp.Expr | None = None
    late_alert: exp.Expr | None = None


@dataclass(frozen=True)
class CreateSource:
    """CREATE STREAM or CREATE TABLE ... USING; `format` is "" for a stream without USING."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    spans: dict[str, Span] = field(compare=False)
    watermark: WatermarkClause | None
    format: str
    options: tuple[tuple[str, str], ...] = field(repr=False)
    streaming: bool
    replace: bool
    if_not_exists: bool
    late_rows: LateRows | None = None
    value: ValueClause | None = None
    start: StartClause | None = None
    key: StreamKey | None = None
    refresh: exp.Expr | None = None
    backfill: BackfillClause | None = None


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW name AS query; `sql` is the query's text."""

    name: Name
    query: ParsedQuery
    sql: str
    replace: bool
    if_not_exists: bool


@dataclass(frozen=True)
class CreateSink:
    """CREATE SINK name (columns, PRIMARY KEY (names)) USING format OPTIONS (...)."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    key: tuple[Name, ...]
    format: str
    options: tuple[tuple[str, str], ...] = field(repr=False)
    replace: bool
    if_not_exists: bool


@dataclass(frozen=True)
class CreateQuery:
    """CREATE QUERY name INTO sink OPTIONS (...) FROM SAVEPOINT 'name' AS query; `sql` is the query's text.

    new_checkpoint: WITH NEW CHECKPOINT, where another query is replaced; start: the FROM behind it.
    """

    name: Name
    sink: Name | None
    options: tuple[tuple[str, str], ...]
    savepoint: Name | None
    query: ParsedQuery
    sql: str
    replace: bool
    if_not_exists: bool
    new_checkpoint: bool = False
    start: StartClause | None = None


@dataclass(frozen=True)
class CreateMaterializedView:
    """CREATE MATERIALIZED VIEW name IN group PRIMARY KEY (names) INDEX (names) OPTIONS (...) AS query.

    sql, new_checkpoint, start: as of `CreateQuery`.
    group: the views of which one query keeps all; None: it has a query of its own.
    """

    name: Name
    key: tuple[Name, ...]
    indexes: tuple[Name, ...]
    options: tuple[tuple[str, str], ...] = field(repr=False)
    query: ParsedQuery
    sql: str
    replace: bool
    if_not_exists: bool
    new_checkpoint: bool = False
    start: StartClause | None = None
    group: Name | None = None


@dataclass(frozen=True)
class CreateViewGroup:
    """CREATE VIEW GROUP name OPTIONS (...): views that one query keeps, with one transaction for each micro-batch."""

    name: Name
    options: tuple[tuple[str, str], ...] = field(repr=False)
    if_not_exists: bool


@dataclass(frozen=True)
class CreateAs:
    """CREATE TABLE or CREATE STREAM name USING format OPTIONS (...) AS query; `sql` is the query's text.

    format: None where the statement does not say where the rows are kept.
    """

    name: Name
    streaming: bool
    format: str | None
    options: tuple[tuple[str, str], ...] = field(repr=False)
    query: ParsedQuery
    sql: str
    replace: bool
    if_not_exists: bool


@dataclass(frozen=True)
class Prepare:
    """PREPARE name FROM statement; `sql` is the text of the statement.

    parameters: the names of those that it has as :name, in the order of EXECUTE; empty: they are written `?`.
    """

    name: Name
    sql: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutePrepared:
    """EXECUTE name USING values, or EXECUTE IMMEDIATE 'text' USING values, where `sql` is the text."""

    name: Name | None
    sql: str | None
    values: tuple[exp.Expr, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Deallocate:
    """DEALLOCATE name."""

    name: Name


@dataclass(frozen=True)
class Insert:
    """INSERT INTO target (columns) query: once, with what is there now. The target is a sink, a stream or a table.

    columns: what the columns of the query are called there, in order; empty: as the target goes by.
    """

    target: Name
    query: ParsedQuery
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Summarize:
    """SUMMARIZE of a query, or of a relation: the query is then SELECT * of it."""

    query: ParsedQuery


@dataclass(frozen=True)
class ControlQuery:
    """START, PAUSE, RESUME, RESTART or STOP QUERY; `action` is that word, lower case.

    kind: whose query it is: "query", "materialized view" or "view group".
    """

    action: str
    name: Name
    savepoint: Name | None
    kind: str = "query"


@dataclass(frozen=True)
class AlterQuery:
    """ALTER QUERY name SET (option value, ...) or RESET (option, ...), where the value is None; `kind` as of
    `ControlQuery`."""

    name: Name
    options: tuple[tuple[Name, str | None], ...]
    kind: str = "query"


@dataclass(frozen=True)
class Drop:
    """DROP STREAM, TABLE, VIEW, MATERIALIZED VIEW, VIEW GROUP, SINK or QUERY.

    cascade: with all that reads it or writes to it.
    """

    kind: str
    name: Name
    if_exists: bool
    cascade: bool = False


@dataclass(frozen=True)
class DropSavepoint:
    """DROP SAVEPOINT 'name'."""

    name: Name
    if_exists: bool


@dataclass(frozen=True)
class Show:
    """SHOW STREAMS, TABLES, VIEWS, MATERIALIZED VIEWS, VIEW POSITIONS, VIEW GROUPS, SINKS, QUERIES or SAVEPOINTS [LIKE
    pattern]; SHOW EXTENDED QUERIES.

    like: the pattern, in which `*` stands for any text and `?` for a character; None for all.
    """

    kind: str
    like: str | None = None
    extended: bool = False


@dataclass(frozen=True)
class ShowCreate:
    """SHOW CREATE STREAM, TABLE, VIEW, MATERIALIZED VIEW, VIEW GROUP, SINK or QUERY."""

    kind: str
    name: Name


@dataclass(frozen=True)
class ShowHistory:
    """SHOW QUERY name HISTORY."""

    name: Name


@dataclass(frozen=True)
class DescribeQuery:
    """DESCRIBE [EXTENDED] QUERY."""

    name: Name
    extended: bool


@dataclass(frozen=True)
class ShowFunctions:
    """SHOW FUNCTIONS [LIKE pattern]; the pattern as in `Show`."""

    like: str | None


@dataclass(frozen=True)
class Describe:
    """DESCRIBE [EXTENDED] a stream, table, view or sink."""

    name: Name
    extended: bool


@dataclass(frozen=True)
class Print:
    """PRINT name [LIMIT n]: a look at the rows that a relation reads.

    topic: the name is that of a topic of Kafka.
    """

    name: Name
    limit: int
    topic: bool = False


@dataclass(frozen=True)
class Subscribe:
    """SUBSCRIBE [TO] name [SINCE 'token']: the rows of a view and its changes, or those that leave a query."""

    name: Name
    since: str | None = None


@dataclass(frozen=True)
class Defined:
    """QUERY name or VIEW name in place of a query: the one that the catalog has under that name."""

    kind: str
    name: Name


@dataclass(frozen=True)
class Explain:
    """EXPLAIN a query; `part` is rewritten, logical, planning, pattern, physical or all, None for plan and patterns.

    EXPLAIN PATTERN AS DOT or MERMAID has the part "dot" or "mermaid".
    """

    query: ParsedQuery | Defined
    part: str | None


@dataclass(frozen=True)
class ExplainMatch:
    """EXPLAIN MATCH query FOR KEY (...): the key's values, each a constant or `column = constant`; none without it."""

    query: ParsedQuery | Defined
    key: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class ExplainAnalyze:
    """EXPLAIN ANALYZE QUERY: what each operator of a running query has done."""

    name: Name


@dataclass(frozen=True)
class ExplainReplace:
    """EXPLAIN REPLACE QUERY: what CREATE OR REPLACE QUERY would do with the query that stands under the name; also of a
    materialized view."""

    create: CreateQuery | CreateMaterializedView


@dataclass(frozen=True)
class SetOption:
    """SET key = value, SET key, or SET."""

    key: Name | None
    value: str | None


@dataclass(frozen=True)
class ResetOption:
    """RESET key or RESET."""

    key: Name | None


Statement = (
    ParsedQuery
    | Insert
    | CreateSource
    | CreateView
    | CreateSink
    | CreateQuery
    | CreateMaterializedView
    | CreateViewGroup
    | CreateAs
    | Prepare
    | ExecutePrepared
    | Deallocate
    | ControlQuery
    | AlterQuery
    | Drop
    | DropSavepoint
    | Show
    | ShowCreate
    | ShowHistory
    | ShowFunctions
    | Describe
    | Print
    | Subscribe
    | Summarize
    | DescribeQuery
    | Explain
    | ExplainMatch
    | ExplainAnalyze
    | ExplainReplace
    | SetOption
    | ResetOption
    | WaitFor
)
