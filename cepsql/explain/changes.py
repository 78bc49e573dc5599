"""Operators over tables that change, in words."""

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.plan.tree.nodes import (
    ChangeOperator,
    Clock,
    RankedRows,
    RetractingFrames,
    RetractingGroups,
    TableJoin,
    TemporalFilter,
    Upserts,
    takes_rows_away,
)


def change_lines(node: ChangeOperator) -> list[str]:
    """Return the lines of EXPLAIN for an operator, without what is below it."""
    match node:
        case Upserts():
            source = node.stream
            time = [source.watermark.column] if source.watermark is not None else []
            return [
                f"Table {source.name}",
                f"  primary key: {', '.join(source.key)}",
                *([f"  delete when: {source.deletion}"] if source.deletion is not None else []),
                f"  the last change of a key counts: by {', then '.join([*time, 'the order in which they come'])}",
                "  state: the row of every key; deletions until the watermark has passed them",
            ]
        case RetractingGroups(_, _, keys, calls, spoken):
            return [
                "Groups of a table",
                f"  group by: {', '.join(column.name for column in keys) or 'nothing (one group)'}",
                *(f"  {column.name}: {call}" for (column, _), call in zip(calls, spoken, strict=True)),
                "  state: of every group what each aggregate needs to go on; "
                "the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG",
            ]
        case RankedRows():
            return [
                f"Ranks  {node.ranking}{'' if node.limit is None else f' <= {node.limit}'}",
                f"  partition by: {', '.join(node.keys) or 'nothing (one partition)'}",
                f"  order by: {', '.join(map(sql_of, node.order))}",
                f"  state: {_ranked_rows(node)}",
            ]
        case RetractingFrames():
            lines = [
                "Window functions of a table",
                f"  partition by: {', '.join(node.keys) or 'nothing (one partition)'}",
                f"  order by: {', '.join(map(sql_of, node.order)) or 'nothing'}",
                *(f"  {call.column.name}: {call.spoken}" for call in node.calls),
            ]
            kept = "  state: all rows; a change computes its partition anew, and rows that differ come out"
            return [*lines, kept] if node.properties.streaming else lines
        case TemporalFilter():
            return _temporal_lines(node)
    assert isinstance(node, TableJoin)
    equal = " AND ".join(
        f"{sql_of(one)} {'<=>' if number in node.null_safe else '='} {sql_of(other)}"
        for number, (one, other) in enumerate(node.keys)
    )
    asked = [] if node.condition is None else [f"  further condition on pairs: {sql_of(node.condition)}"]
    state = "the rows of both tables" + ("" if node.condition is None else ", with how many rows each meets")
    return [f"Join of tables  {node.kind}", f"  on: {equal}", *asked, f"  state: {state}"]


def _temporal_lines(node: TemporalFilter) -> list[str]:
    clock = "the watermark of the rows" if node.clock == Clock.EVENT_TIME else "the system clock, as recorded"
    if not node.spoken:
        return ["Clock of rows", f"  now: {clock}"]
    return [
        "Rows while their time lasts",
        *(f"  while: {condition}" for condition in node.spoken),
        f"  now: {clock}",
        "  state: rows that are still to come or to go",
    ]


def _ranked_rows(node: RankedRows) -> str:
    if node.limit is None or takes_rows_away(node.inputs[0]):
        return "all rows"
    return f"of every key the rows with the ranks up to {node.limit}"
