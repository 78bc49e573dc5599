"""The plan of a query: its matches, what it reads, and what Spark is to run around them."""

from dataclasses import dataclass, replace

from sqlglot import exp

from cepsql.analysis.after_match import check_after_matches, is_matched
from cepsql.analysis.event_time import missing_event_time
from cepsql.analysis.markers import carry_markers, inline_ctes
from cepsql.analysis.match import MatchPlan, plan_match
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import (
    Lookup,
    Resolved,
    catalog_tables,
    flat_name,
    resolve,
    table_name,
    used_ctes,
    visible_ctes,
)
from cepsql.catalog import ColumnDefinition, Relation, View, Watermark
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.language.statements import MatchClause, Query


@dataclass(frozen=True)
class Plan:
    """A query with all names known.

    expression: the query around the matches; each match is a table of its placeholder's name.
    matches:    inner ones first.
    relations:  what it reads from the catalog, by lower-case name as written.
    limit:      LIMIT of a query over a stream: whoever shows the rows stops after so many.
    watermark:  event time of a streaming result.
    stateful:   Spark keeps state for what stands around the matches of streams.
    matched:    its rows are matches of a stream.
    carried:    the expression with the markers of its matches coming out too; None where there are none, or no way.
    """

    query: Query
    expression: exp.Query
    columns: tuple[ColumnDefinition, ...]
    matches: tuple[MatchPlan, ...]
    relations: dict[str, Relation]
    streaming: bool
    limit: int | None
    watermark: Watermark | None
    stateful: bool = False
    matched: bool = False
    carried: exp.Query | None = None

    @property
    def followed(self) -> frozenset[str]:
        """The matches whose matches another one reads."""
        return frozenset(table_name(t) for match in self.matches if match.chained for t in catalog_tables(match.input))

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the query."""
        return tuple(notice for match in self.matches for notice in match.notices)


def plan_query(query: Query, lookup: Lookup) -> Plan:
    """Plan a query; `lookup` finds what a table name means.

    Raises ProgrammingError and NotSupportedError, with position, hint and text.
    """
    try:
        return _plan(query, lookup)
    except Error as error:
        error.text = error.text or query.sql
        raise


def _plan(query: Query, lookup: Lookup) -> Plan:
    done: dict[str, View] = {}
    relations: dict[str, Relation] = {}

    def find(table: exp.Table) -> Relation:
        name = table_name(table)
        return done[name] if name in done else lookup(table)

    matches: list[MatchPlan] = []

    def missing_time(name: str, follower: str, place: Span | None) -> Error:
        found = next((match for match in matches if match.clause.name == name), None)
        if found is not None:
            return missing_event_time(found.program, follower, place)
        return NotSupportedError(f"{follower} over the view {name} is not supported: it gives no event time", place)

    for clause in query.matches:
        clause = replace(clause, input=used_ctes(_with_ctes(clause, query)))
        resolved = resolve(clause.input, find)
        chained = {name for name, relation in resolved.relations.items() if is_matched(relation)}
        if resolved.streaming:
            _refuse_stateful_input(clause, resolved)
        if chained:
            if resolved.watermark is None:
                raise missing_time(*chained, "MATCH_RECOGNIZE", clause.span)
            _refuse_unmarked(clause, resolved)
            clause = replace(clause, input=carry_markers(clause.input, chained))
        match = plan_match(clause, resolved.columns, resolved.streaming, resolved.watermark, bool(chained))
        columns = tuple(ColumnDefinition(column.name, column.type) for column in match.output)
        done[clause.name] = View(clause.name, "", columns, match.streaming, match.event_time, match.streaming, True)
        matches.append(match)
        relations |= resolved.relations
    expression, limit = used_ctes(query.expression), None
    resolved = resolve(expression, find)
    relations |= resolved.relations
    streaming = any(relation.streaming for relation in relations.values())
    stateful, carried = False, None
    if resolved.streaming:
        _refuse_on_streams(expression, resolved)
        expression, limit = _take_limit(expression)
    matched = {name for name, relation in resolved.relations.items() if is_matched(relation)}
    if matched:
        _refuse_second_use(matches, expression)
        relations_below = {flat_name(name): relation for name, relation in resolved.relations.items()}
        qualified = resolve(inline_ctes(expression), find).qualified
        stateful = check_after_matches(qualified, relations_below, missing_time)
        carried = None if stateful else _carried(expression, matched)
    return Plan(
        query,
        expression,
        resolved.columns,
        tuple(matches),
        {name: relation for name, relation in relations.items() if name not in done},
        streaming,
        limit,
        None if stateful else resolved.watermark,
        stateful,
        bool(matched) and not stateful,
        carried,
    )


def _carried(expression: exp.Query, matched: set[str]) -> exp.Query | None:
    try:
        return carry_markers(expression, matched)
    except NotSupportedError:
        return None


def _refuse_unmarked(clause: MatchClause, resolved: Resolved) -> None:
    for relation in resolved.relations.values():
        if is_matched(relation) and not relation.marked:
            raise NotSupportedError(
                f"MATCH_RECOGNIZE over the view {relation.name} is not supported",
                clause.span,
                "between it and the matches of the view only filters, computed columns and joins with tables may stand",
            )


def _refuse_second_use(matches: list[MatchPlan], expression: exp.Query) -> None:
    queries = [*(match.input for match in matches), expression]
    read = [table for query in queries for table in catalog_tables(inline_ctes(query))]
    for match in matches:
        uses = [table for table in read if table_name(table) == match.clause.name]
        if match.streaming and len(uses) > 1:
            raise NotSupportedError(
                "the matches of a stream are read twice, which is not supported",
                match.clause.span,
                "write the MATCH_RECOGNIZE twice",
            )


def _with_ctes(clause: MatchClause, query: Query) -> exp.Query:
    """Return the clause's input with the CTEs that are visible where the clause stands."""
    holders = [query.expression, *(other.input for other in query.matches if other is not clause)]
    for holder in holders:
        for table in holder.find_all(exp.Table):
            if table.name == clause.name:
                copy = clause.input.copy()
                for cte in visible_ctes(table):
                    copy = copy.with_(cte.alias, as_=cte.this.copy(), copy=False)
                return copy
    return clause.input


def _refuse_stateful_input(clause: MatchClause, resolved: Resolved) -> None:
    streams = [name for name, relation in resolved.relations.items() if relation.streaming]
    if len(streams) > 1:
        raise NotSupportedError("MATCH_RECOGNIZE over a join or union of streams is not supported", clause.span)
    uses = [table for table in catalog_tables(inline_ctes(clause.input)) if table_name(table) in streams]
    if len(uses) > 1:
        raise NotSupportedError("MATCH_RECOGNIZE over a stream that is read twice is not supported", clause.span)
    found = clause.input.find(exp.Group, exp.Distinct, exp.Window, exp.AggFunc, exp.Order, exp.Limit, exp.SetOperation)
    if found is not None:
        raise NotSupportedError(
            f"{_spoken(found)} on a stream before MATCH_RECOGNIZE is not supported",
            span_of(found, clause.span),
            "filters, computed columns and joins with tables are",
        )


def _refuse_on_streams(expression: exp.Query, resolved: Resolved) -> None:
    streams = {name for name, relation in resolved.relations.items() if relation.streaming}
    for query in expression.find_all(exp.Query):
        if _reads(query, streams):
            _refuse_order(query, outermost=query is expression)
    for table in catalog_tables(expression):
        if table_name(table) in streams and _in_condition(table):
            raise NotSupportedError(
                "a stream in a subquery of a condition is not supported", span_of(table), "a table there is"
            )


def _reads(query: exp.Query, names: set[str]) -> bool:
    return any(table_name(table) in names for table in catalog_tables(query))


def _refuse_order(query: exp.Query, outermost: bool) -> None:
    for clause, spoken in (("order", "ORDER BY"), ("sort", "SORT BY"), ("cluster", "CLUSTER BY")):
        if query.args.get(clause) is not None:
            place = span_of(query.args[clause])
            raise NotSupportedError(
                f"{spoken} over a stream is not supported", place, "the rows of a stream come as they are found"
            )
    if query.args.get("offset") is not None:
        raise NotSupportedError("OFFSET over a stream is not supported", span_of(query.args["offset"]))
    if query.args.get("limit") is not None and not outermost:
        raise NotSupportedError(
            "LIMIT in a subquery over a stream is not supported", span_of(query.args["limit"]), "the outer query may"
        )


def _in_condition(table: exp.Table) -> bool:
    """Tell whether a table stands in a subquery that is no relation: after IN, in EXISTS, or as a value."""
    node, parent = table, table.parent
    while parent is not None:
        if isinstance(parent, exp.In | exp.Exists):
            return True
        if isinstance(node, exp.Subquery) and not isinstance(parent, exp.From | exp.Join | exp.Query | exp.CTE):
            return True
        node, parent = parent, parent.parent
    return False


def _spoken(node: exp.Expr) -> str:
    words = {
        exp.Group: "GROUP BY", exp.Distinct: "DISTINCT", exp.Window: "a window function", exp.Order: "ORDER BY",
        exp.Limit: "LIMIT", exp.SetOperation: "UNION, INTERSECT or EXCEPT",
    }  # fmt: skip
    return next((word for kind, word in words.items() if isinstance(node, kind)), "an aggregate")


def _take_limit(expression: exp.Query) -> tuple[exp.Query, int | None]:
    limit = expression.args.get("limit")
    if limit is None:
        return expression, None
    count = limit.expression
    if not isinstance(count, exp.Literal) or not count.this.isdigit():
        raise ProgrammingError("LIMIT over a stream must be a constant whole number", span_of(limit))
    copy = expression.copy()
    copy.set("limit", None)
    return copy, int(count.this)
