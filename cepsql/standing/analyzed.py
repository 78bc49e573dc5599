"""EXPLAIN ANALYZE QUERY: the plan of a query with the progress of each operator, wherever it runs."""

from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.states import QueryState
from cepsql.explain.text import explain_logical
from cepsql.language import statements as st
from cepsql.render.answer import Answer
from cepsql.spark.checkpoint.operator_progress import OperatorProgress
from cepsql.standing.explained import ExplainHost, lines, registered_query
from cepsql.standing.query_report import shown_lag, shown_time, shown_watermark


def analyzed(host: ExplainHost, name: st.Name) -> Answer:
    """Answer EXPLAIN ANALYZE QUERY; raises ProgrammingError if there is no such query."""
    query = host.queries.get_at(name.text, name.span)
    state = query.state
    plan = registered_query(host, query.definition).plan
    where = f" in {state.owner}" if state.owner else ""
    head = f"query {query.name}: {state.state}{where}"
    progress = state.progress or {}
    if not progress.get("batches"):
        then = "" if state.owner else f"; START QUERY {quoted_name(query.name)} runs it"
        return lines(f"{head}, no batch has ended yet{then}\n{explain_logical(plan)}")
    stage_names = {node.properties.name for node in plan.stages}
    done: dict[str, str] = {}
    beside = []
    for one in (OperatorProgress(**data) for data in progress.get("operators", ())):
        *inner, last = one.operator.split(" + ")
        if stage_names.issuperset((*inner, last)):
            done |= dict.fromkeys(inner, f"in one stage with {last}") | {last: one.said}
        else:
            beside.append(f"  {one}")
    tree = explain_logical(plan, None, done)
    return lines("\n".join([f"{head}, as of {shown_time(state.progress_at)}", tree, *beside, *_totals(state)]))


def _totals(state: QueryState) -> list[str]:
    """Return the lines with the progress of the query as a whole."""
    progress = state.progress or {}
    spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in progress.get("phases", {}).items())
    last = f"; the last took {progress.get('batch_seconds', 0.0):.2f} s{f': {spent}' if spent else ''}"
    counts = (("read", "rows_read"), ("late", "rows_late"), ("malformed", "rows_malformed"), ("out", "rows_out"))
    rows = ", ".join(f"{name} {progress.get(key) or 0:,}" for name, key in counts)
    mark, lag = shown_watermark(progress), shown_lag(state)
    return [
        f"batches: {progress['batches']:,}, {progress.get('seconds') or 0.0:.1f} s in all{last}",
        f"rows: {rows}",
        *([f"watermark: {mark}" + (f", lag {lag}" if lag else "")] if mark else []),
    ]
