"""What may stand after an operator over a stream: windows and joins that are decided some day and lose no row."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import Properties
from cepsql.analysis.sql.resolve import event_time
from cepsql.analysis.sql.window_calls import is_window_call
from cepsql.catalog import Watermark
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.language.islands import KEPT_AGGREGATES

MissingTime = Callable[[str, str, Span | None], Error]
"""Makes the error for matches, by the flat name of their relation, that give no event time for what follows them."""

JOINED = "a join of streams"
"""What the rows of a join are in words."""

_UNTIL = "select the event time, too, so that rows can be forgotten; or end the query with EMIT CHANGES"


@dataclass(frozen=True)
class _Query:
    """The query that is checked: its relations by flat name, what the rows of each are in words, and how to say that
    they have no event time."""

    relations: Mapping[str, Properties]
    words: Mapping[str, str]
    missing_time: MissingTime
    place: Span | None

    @property
    def streaming(self) -> set[str]:
        """The names of the streams."""
        return {name for name, relation in self.relations.items() if relation.streaming}

    def streams(self, scope: Scope) -> dict[str, exp.Table | Scope]:
        """Return the streams that a SELECT reads itself, by alias."""
        sources = {alias.lower(): source for alias, (_, source) in scope.selected_sources.items()}
        return {alias: source for alias, source in sources.items() if any(r.streaming for r in self.below(source))}

    def below(self, source: exp.Table | Scope) -> list[Properties]:
        """Return the relations below a source, each as often as it is read."""
        if isinstance(source, exp.Table):
            relation = self.relations.get(source.name.lower())
            return [relation] if relation is not None else []
        if isinstance(source.expression, exp.SetOperation):
            tables = source.expression.find_all(exp.Table)
            return [self.relations[table.name.lower()] for table in tables if table.name.lower() in self.relations]
        return [relation for _, part in source.selected_sources.values() for relation in self.below(part)]

    def words_of(self, below: Iterable[Properties]) -> str:
        """Return what the rows are in words that some relations give, of which one is read from an operator."""
        read = {id(relation) for relation in below if relation.streaming and relation.ordered}
        return next(
            (self.words[name] for name, candidate in self.relations.items() if id(candidate) in read), "a stream"
        )

    def time(self, source: exp.Table | Scope, follower: str, place: Span | None) -> Watermark:
        """Return the event time of a source.

        Raises the error that says how to get one if it has none.
        """
        if isinstance(source, exp.Table):
            watermark = self.relations[source.name.lower()].watermark
        else:
            watermark = event_time(source, self.relations, unions=False)
        if watermark is not None:
            if any(relation.ordered and relation.merged for relation in self.below(source)):
                raise _of_union(follower, place)
            return watermark
        relation = next(r for r in self.below(source) if r.streaming)
        if isinstance(source, Scope) and isinstance(source.expression, exp.SetOperation):
            raise _of_union(follower, place)
        if relation.ordered:
            # What is known of an operator's rows has no name, or that of a view.
            name = next(name for name, watermark in self.relations.items() if watermark is relation)
            raise self.missing_time(name, follower, place)
        raise ProgrammingError(
            f"{follower} needs the event time of {relation.name}",
            place,
            "declare the stream with WATERMARK FOR, and keep that column unchanged in the subquery",
        )


def _of_union(follower: str, place: Span | None) -> NotSupportedError:
    return NotSupportedError(f"{follower} over a union of streams is not supported", place)


def check_after_matches(
    qualified: exp.Query, relations: Mapping[str, Properties], words: Mapping[str, str], missing_time: MissingTime
) -> bool:
    """Check the query around the matches of streams, or other rows that an operator gives; tell whether Spark must keep
    state for it.

    qualified: with the table of every column and without CTEs.
    relations: by flat name; `words` says what the rows of each are.
    Raises NotSupportedError and ProgrammingError for what would never be decided, would lose rows, or cannot be run.
    """
    query = _Query(relations, words, missing_time, span_of(qualified))
    stateful: list[Scope] = []
    for scope in traverse_scope(qualified):
        if isinstance(scope.expression, exp.SetOperation):
            _check_union(scope, query)
            continue
        select = scope.expression
        _check_pivots(select, query)
        if streams := query.streams(scope):
            rows = query.words_of(relation for source in streams.values() for relation in query.below(source))
            grouping = _aggregation(select, rows, query)
            # What joins streams is checked once an operator stands for the join.
            if grouping is not None and len(streams) == 1:
                _check_aggregation(select, grouping, streams, query)
                stateful.append(scope)
    if len(stateful) > 1:
        raise _twice(stateful[-1], query)
    return bool(stateful)


def _twice(scope: Scope, query: _Query) -> NotSupportedError:
    return NotSupportedError(
        f"one aggregation over {query.words_of(query.below(scope))} is supported",
        span_of(scope.expression, query.place),
        "run two queries",
    )


def _check_union(scope: Scope, query: _Query) -> None:
    union = scope.expression
    plain = isinstance(union, exp.Union) and not union.args.get("distinct")
    if not plain and any(relation.streaming for relation in query.below(scope)):
        raise NotSupportedError(
            f"UNION, INTERSECT and EXCEPT over {query.words_of(query.below(scope))} are not supported",
            span_of(union, query.place),
            "UNION ALL is",
        )


def _check_pivots(select: exp.Expr, query: _Query) -> None:
    """Refuse PIVOT, which aggregates."""
    if select.args.get("from_") is None:
        return
    items = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
    read = {t.name.lower() for item in items for t in item.find_all(exp.Table)} & query.streaming
    for item in items:
        if read and item.args.get("pivots"):
            rows = query.words_of(query.relations[name] for name in read)
            raise NotSupportedError(
                f"PIVOT over {rows} is not supported", span_of(item, query.place), "COUNT_IF(...) is"
            )


def _aggregation(select: exp.Expr, rows: str, query: _Query) -> exp.Expr | None:
    """Return a node of the SELECT's own that makes it an aggregation, None if it is none; `rows`: what it reads.

    Raises NotSupportedError for DISTINCT and window functions.
    """
    aggregation = None
    for node in select.find_all(exp.Group, exp.Distinct, exp.Window, exp.AggFunc, exp.Anonymous):
        if node.find_ancestor(exp.Query) is not select:
            continue
        if isinstance(node, exp.Anonymous) and node.name.upper() not in KEPT_AGGREGATES:
            continue
        if isinstance(node, exp.Distinct | exp.Window):
            construct = "DISTINCT" if isinstance(node, exp.Distinct) else "a window function"
            hint = None if isinstance(node, exp.Window) else _UNTIL
            if isinstance(node.parent, exp.AggFunc):
                hint = "approx_count_distinct is"
            raise NotSupportedError(f"{construct} over {rows} is not supported", span_of(node, query.place), hint)
        aggregation = aggregation or node
    return aggregation


def _check_aggregation(select: exp.Expr, grouping: exp.Expr, streams: dict, query: _Query) -> None:
    place = span_of(grouping, query.place)
    ((alias, source),) = streams.items()
    time = query.time(source, "an aggregate", place)
    group = select.args.get("group")
    keys = [key.unalias().unnest() for key in group.expressions] if group is not None else []
    if len(keys) == 1 and _window_name(keys[0]) == "SESSION_WINDOW":
        raise NotSupportedError("session_window over a stream needs another key beside it in GROUP BY", place)
    if not any(_is_window(key, alias, time) for key in keys):
        # The columns of a join have names that nobody writes.
        joined = isinstance(source, exp.Table) and query.words[source.name.lower()] == JOINED
        window = f"window({'ts' if joined else time.column}, '1 hour')"
        raise NotSupportedError(
            f"an aggregate over {query.words_of(query.below(source))} needs windows of their event time",
            place,
            f"other groups are never complete: GROUP BY {window}"
            + (", where ts is the event time of one of the streams" if joined else ""),
        )


def _window_name(key: exp.Expr) -> str | None:
    return key.name.upper() if isinstance(key, exp.Anonymous) else None


def _is_window(key: exp.Expr, alias: str, time: Watermark) -> bool:
    if is_window_call(key) and key.expressions:
        key = key.expressions[0]
    return isinstance(key, exp.Column) and key.table.lower() == alias and key.name.lower() == time.column.lower()
