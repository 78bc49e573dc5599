"""EXPLAIN of a query, or of a named query of the catalog."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from cepsql.analysis.sql.parameters import literal
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.catalog import RegisteredQuery, View
from cepsql.catalog.catalog_names import kind
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.references import resolved
from cepsql.errors import ProgrammingError
from cepsql.explain.match_key import asked_match, key_columns
from cepsql.explain.picture import picture
from cepsql.explain.text import (
    explain_drawings,
    explain_logical,
    explain_pattern,
    explain_planning,
    explain_rewritten,
)
from cepsql.language import statements as st
from cepsql.language.translate import one_query
from cepsql.plan.passes import PassStep
from cepsql.plan.planner import Plan
from cepsql.query import Query, QueryHost
from cepsql.render.answer import Answer
from cepsql.standing.registered_plan import registered_plan
from cepsql.standing.statement_host import StatementHost
from cepsql.standing.tuned import Tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN_KEYS = 8


class ExplainHost(QueryHost, StatementHost, Protocol):
    """What EXPLAIN needs of the `cepsql.engine.context.Context` that executes it."""


def defined_query(host: ExplainHost, defined: st.Defined) -> Query:
    """Return a named query or view of the catalog as a query.

    Raises ProgrammingError if there is none, or the name is of another kind.
    """
    name = defined.name
    if defined.kind == "query":
        definition = host.catalog.query(name.text, name.span)
        return registered_query(host, definition)
    view = host.catalog.get(name.text, name.span)
    if not isinstance(view, View):
        hint = f"EXPLAIN SELECT * FROM {quoted_name(name.text)} explains how it is read"
        raise ProgrammingError(f"{name.text} is a {kind(view)}, not a view", name.span, hint)
    return Query(host, host.plan(one_query(f"SELECT * FROM {quoted_name(view.name)}")))


def registered_query(host: ExplainHost, definition: RegisteredQuery) -> Query:
    """Return the query of a definition with the settings and the start of its options."""
    options = resolved(definition.options, f"query {definition.name}")
    own = {key: value for key, value in options.items() if key.startswith("cepsql.")}
    asked = Tuned(host, own) if own else host
    return Query(asked, registered_plan(host, definition), options.get("start"))


def explained(query: Query, part: str | None, spark: "SparkSession | None", steps: Sequence[PassStep] = ()) -> Answer:
    """Answer EXPLAIN, of one part, or of the plan with its patterns drawn.

    spark: the session, if there is one, whose settings decide who reads the files of streams.
    steps: what each pass of planning changed.
    """
    if part == "planning":
        return lines(explain_planning(steps))
    if part in st.PICTURES:
        return Answer(text=picture(query.plan, part))

    def logical(plan: Plan) -> str:
        return explain_logical(plan, query.scan_obstacle(spark))

    sections: Mapping[str, Callable[[Plan], str]] = {
        "rewritten": explain_rewritten,
        "logical": logical,
        "pattern": explain_pattern,
        "physical": lambda _: query.explain_spark(),
    }
    reading = _reading(query)
    if part is None:
        return lines(f"{reading}{logical(query.plan)}\n{explain_drawings(query.plan)}".rstrip())
    if part == "all" and reading:
        # Spark does not start for a query that it does not answer.
        others = {name: section for name, section in sections.items() if name != "physical" or query.reading is None}
        sections = {"reading": lambda _: reading, **others}
    chosen = list(sections) if part == "all" else [part]
    return lines("\n".join(f"== {name} ==\n{sections[name](query.plan)}" for name in chosen))


def _reading(query: Query) -> str:
    """Return lines that say how a query over views is answered, "" if it reads none."""
    if query.reading is not None:
        return "\n".join(["without Spark", *query.reading.explained(), ""])
    if query.spark_reason is not None:
        return f"by Spark, from the rows that the views have now: {query.spark_reason}\n"
    return ""


def lines(text: str) -> Answer:
    """Return an answer of the lines of a text, which the screen may wrap."""
    return Answer(("plan",), tuple((line,) for line in text.splitlines()), layout="wrapped")


def explained_match(query: Query, statement: st.ExplainMatch) -> Answer:
    """Answer EXPLAIN MATCH; without a key, for several partitions, list some of the keys."""
    keys = key_columns(asked_match(query.plan))
    if keys and not statement.key:
        return Answer(("match",), tuple((line,) for line in _key_lines(query, keys)), layout="wrapped")
    report = str(query.explain_match(statement.key))
    return Answer(("match",), tuple((line,) for line in report.splitlines()), layout="wrapped")


def _key_lines(query: Query, keys: list[str]) -> list[str]:
    """Return lines that list some of the keys, as the clause to append to the statement."""
    keys_with_counts = query.partition_keys(_SHOWN_KEYS)
    if not keys_with_counts:
        return ["there are no rows"]
    written = [f"FOR KEY ({', '.join(map(_constant, key))})" for key, _ in keys_with_counts]
    width = max(map(len, written))
    numbers = [f"{rows} row{'' if rows == 1 else 's'}" for _, rows in keys_with_counts]
    aligned = [f"  {key:<{width}}  {number}" for key, number in zip(written, numbers, strict=True)]
    return [f"Each value of {', '.join(keys)} is a partition. End the statement with one of them, such as:", *aligned]


def _constant(value: object) -> str:
    return str(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else sql_of(literal(value))
