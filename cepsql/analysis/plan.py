"""The plan of a query: its matches, what it reads, and what Spark is to run around them."""

from dataclasses import dataclass, replace

from sqlglot import exp

from cepsql.analysis.match import MatchPlan, plan_match
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import Lookup, Resolved, catalog_tables, resolve, table_name, used_ctes, visible_ctes
from cepsql.catalog import ColumnDefinition, Relation, View, Watermark
from cepsql.errors import Error, NotSupportedError, ProgrammingError
from cepsql.language.statements import MatchClause, Query
from cepsql.language.tokens import KEPT_AGGREGATES


@dataclass(frozen=True)
class Plan:
    """A query with all names known.

    expression: the query around the matches; each match is a table of its placeholder's name.
    matches:    inner ones first.
    relations:  what it reads from the catalog, by lower-case name as written.
    limit:      LIMIT of a query over a stream: whoever shows the rows stops after so many.
    watermark:  event time of a streaming result without matches.
    """

    query: Query
    expression: exp.Query
    columns: tuple[ColumnDefinition, ...]
    matches: tuple[MatchPlan, ...]
    relations: dict[str, Relation]
    streaming: bool
    limit: int | None
    watermark: Watermark | None

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

    matches = []
    for clause in query.matches:
        clause = replace(clause, input=_with_ctes(clause, query))
        resolved = resolve(clause.input, find)
        if resolved.streaming:
            _refuse_stateful_input(clause, resolved, done)
        match = plan_match(clause, resolved.columns, resolved.streaming, resolved.watermark)
        columns = tuple(ColumnDefinition(column.name, column.type) for column in match.output)
        done[clause.name] = View(clause.name, "", columns, match.streaming)
        matches.append(match)
        relations |= resolved.relations
    expression, limit = used_ctes(query.expression), None
    resolved = resolve(expression, find)
    relations |= resolved.relations
    streaming = any(relation.streaming for relation in relations.values())
    if resolved.streaming:
        _refuse_on_streams(expression, resolved, done)
        expression, limit = _take_limit(expression)
    return Plan(
        query,
        expression,
        resolved.columns,
        tuple(matches),
        {name: relation for name, relation in relations.items() if name not in done},
        streaming,
        limit,
        resolved.watermark,
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


def _refuse_stateful_input(clause: MatchClause, resolved: Resolved, done: dict[str, View]) -> None:
    streams = [name for name, relation in resolved.relations.items() if relation.streaming]
    if any(name in done for name in streams):
        raise NotSupportedError("MATCH_RECOGNIZE over the matches of a stream is not supported", clause.span)
    if len(streams) > 1:
        raise NotSupportedError("MATCH_RECOGNIZE over a join or union of streams is not supported", clause.span)
    uses = [table for table in catalog_tables(clause.input) if table_name(table) in streams]
    if len(uses) > 1:
        raise NotSupportedError("MATCH_RECOGNIZE over a stream that is read twice is not supported", clause.span)
    found = clause.input.find(exp.Group, exp.Distinct, exp.Window, exp.AggFunc, exp.Order, exp.Limit, exp.SetOperation)
    if found is not None:
        raise NotSupportedError(
            f"{_spoken(found)} on a stream before MATCH_RECOGNIZE is not supported",
            span_of(found, clause.span),
            "filters, computed columns and joins with tables are",
        )


def _refuse_on_streams(expression: exp.Query, resolved: Resolved, done: dict[str, View]) -> None:
    streams = {name for name, relation in resolved.relations.items() if relation.streaming}
    for query in expression.find_all(exp.Query):
        if _reads(query, streams):
            _refuse_order(query, outermost=query is expression)
    for table in catalog_tables(expression):
        if table_name(table) in streams and _in_condition(table):
            raise NotSupportedError(
                "a stream in a subquery of a condition is not supported", span_of(table), "a table there is"
            )
    matches = [t for t in catalog_tables(expression) if table_name(t) in done and done[table_name(t)].streaming]
    if not matches:
        return
    if len(matches) > 1 or sum(relation.streaming for relation in resolved.relations.values()) > 1:
        raise NotSupportedError(
            "a query over a stream has one MATCH_RECOGNIZE, joined to tables only",
            span_of(matches[-1]),
            "run two queries",
        )
    for found in expression.find_all(exp.Group, exp.Distinct, exp.Window, exp.AggFunc, exp.Anonymous):
        plain = isinstance(found, exp.Anonymous) and found.name.upper() not in KEPT_AGGREGATES
        if plain or not _reads(found.find_ancestor(exp.Query), streams):
            continue
        raise NotSupportedError(
            f"{_spoken(found)} over the matches of a stream is not supported",
            span_of(found, span_of(expression)),
            "aggregates over the rows of one match go into MEASURES",
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
