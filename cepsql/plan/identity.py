"""What a query is, as data: the canonical description that a checkpoint keeps, and how two of them differ."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import takewhile
from typing import Any
from urllib.parse import urlparse

from cepsql.analysis.operators.emission import ON_CLOSE
from cepsql.analysis.operators.fill import FilledGroups
from cepsql.analysis.operators.group_changes import GroupChanges
from cepsql.analysis.operators.over import Frames
from cepsql.analysis.operators.window_groups import WindowGroups
from cepsql.analysis.operators.window_totals import totals
from cepsql.analysis.sql.canonical import canonical_sql, describe_clause
from cepsql.catalog import ColumnDefinition, Registered, Source, Watermark
from cepsql.language.interval_units import in_months
from cepsql.operators.interval_join import JoinKind
from cepsql.operators.window_grids import CalendarGrid
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import (
    AddedRows,
    AsOfJoin,
    ChangeOperator,
    ChangingGroups,
    Deduplicate,
    Fill,
    IntervalJoin,
    LabelledChanges,
    Match,
    Node,
    Over,
    PlannedWindow,
    RankedRows,
    Read,
    RetractingFrames,
    RetractingGroups,
    Sort,
    SparkWatermark,
    Sql,
    TableJoin,
    TemporalFilter,
    Upserts,
    WindowAggregate,
)
from cepsql.secrets import is_secret, without_secrets

VERSION = 1
"""Of the description: another version may say the same in other words."""

_RATES = re.compile(
    r"(max|min)\w*pertrigger|maxtriggerdelay|maxfileage|latestfirst|cleansource\w*|sourcearchivedir|maxlinebytes"
)
_KAFKA_TUNING = re.compile(
    r"kafka\.(?!bootstrap\.servers|isolation\.level).*|minpartitions|groupidprefix|failondataloss|includeheaders"
    r"|kafkaconsumer\..*|fetchoffset\..*"
)
_SHORT, _AROUND, _SHOWN = 60, 20, 3


def describe_plan(plan: Plan, session: Mapping[str, str], frame_identity: Callable[[Registered], str]) -> dict:
    """Return what decides the rows that a query gives, as data that JSON can hold.

    session:        the settings of Spark's that change what expressions mean.
    frame_identity: a text that tells a registered DataFrame from others.
    Left out is what changes no row: names of views, secrets, how much input a batch takes, limits of searches
    and of lines.
    """
    return {
        "version": VERSION,
        "session": dict(session),
        "query": _describe(plan.logical, frame_identity),
    }


def kept_description(described: Any) -> Any:
    """Return a description that was kept as it would be made now: earlier versions kept passwords that stand within
    values of options, such as addresses of databases, and intervals of quarters as they were written."""
    if isinstance(described, str):
        return in_months(described)
    if isinstance(described, list):
        return [kept_description(part) for part in described]
    if not isinstance(described, dict):
        return described
    found = {name: kept_description(part) for name, part in described.items()}
    if "format" in found and "options" in found:
        found["options"] = {name: without_secrets(value) for name, value in found["options"].items()}
    return found


def describe_join(join: IntervalJoin) -> dict:
    """Return what decides which rows a join pairs, and how, but not what it reads, as data that JSON can hold."""
    keys = [[canonical_sql(one), canonical_sql(other)] for one, other in join.keys]
    kind = "join" if join.kind == JoinKind.INNER else f"{join.kind.lower()} join"
    described = {kind: keys, "between": [join.low, join.high], "columns": [list(names) for names in join.columns]}
    if any(join.limits):
        said = [limit and {"time": canonical_sql(limit.time), "before": limit.before} for limit in join.limits]
        described["until"] = said
    if join.conditions:
        described["on"] = [canonical_sql(condition) for condition in join.conditions]
    return described


def describe_as_of_join(join: AsOfJoin) -> dict:
    """Return what decides which rows meet, but not what is read, as data that JSON can hold."""
    keys = [[canonical_sql(one), canonical_sql(other)] for one, other in join.keys]
    asked = [name for name in ("forward", "strict", "outer") if getattr(join, name)]
    described = {"as of join": keys, "how": asked, "columns": [list(names) for names in join.columns]}
    if join.deletion is not None:
        described["delete when"] = canonical_sql(join.deletion)
    if join.tolerance is not None:
        described["tolerance"] = join.tolerance
    if join.conditions:
        described["conditions"] = [canonical_sql(part) for part in join.conditions]
        described["versions"] = join.versions
    if join.null_safe:
        described["null safe"] = list(join.null_safe)
    return described


def describe_frames(frames: Frames) -> dict:
    """Return what decides which rows frames hold, and what is made of them, as data that JSON can hold."""
    return {
        "over": [[call.column.name, canonical_sql(call.call)] for call in frames.calls],
        "columns": [column.name for column in frames.columns],
    }


def describe_window_groups(groups: WindowGroups) -> dict:
    """Return what decides which rows make a group, and what is made of them, as data that JSON can hold."""
    found = None
    if groups.aggregates is not None:
        found = [[column.name, canonical_sql(call)] for column, call in groups.aggregates]
    return {
        "windows": asdict(groups.window) | {"of": groups.time},
        "group by": list(groups.keys),
        "aggregates": found,
        "columns": [column.name for column in groups.columns],
        **({"emit": asdict(groups.emission)} if groups.emission != ON_CLOSE else {}),
        **({"state": "totals"} if totals(groups) is not None else {}),
    }


def describe_fill(groups: FilledGroups) -> dict:
    """Return what decides which rows fill gaps, and with what, as data that JSON can hold."""
    fill = groups.fill
    fillers = zip(groups.columns, fill.fillers, strict=True)
    return {
        "fill": [[column.name, one.kind, None if one.value is None else str(one.value)] for column, one in fillers],
        "keys": list(groups.keys),
        "windows": [fill.size, fill.step, fill.most],
        **({} if fill.calendar is None else {"calendar": _grid(fill.calendar)}),
    }


def _grid(windows: CalendarGrid) -> list:
    return ["months" if windows.months else "days", windows.size, windows.every, windows.first, windows.offset]


def describe_group_changes(groups: GroupChanges) -> dict:
    """Return what decides which rows make a changing group, and what is made of them, as data that JSON can hold."""
    return {
        "changes of": [[column.name, call.function, call.column] for column, call in groups.calls],
        "aggregates": list(groups.spoken),
        "group by": [column.name for column in groups.keys],
        **({} if groups.keys else {"begins": True}),
    }


def _describe_window(call: PlannedWindow) -> list:
    ends = [
        None if end is None else [end[0], None if end[1] is None else canonical_sql(end[1])]
        for end in (call.frame.first, call.frame.last)
    ]
    names = [None if name is None else name.lower() for name in (call.argument, call.default)]
    return [
        call.column.name, call.function, *names, call.frame.unit, *ends, call.number, call.ignore_nulls, call.distinct,
        call.fraction, *([] if call.frame.excluded is None else [str(call.frame.excluded)]),
    ]  # fmt: skip


def describe_change_operator(node: ChangeOperator) -> dict:
    """Return what decides how a table changes, but not what is read, as data that JSON can hold."""
    match node:
        case Upserts():
            source = node.stream
            time = None if source.watermark is None else source.watermark.column.lower()
            return {"table of": list(source.key), "delete when": source.deletion, "order": time,
                    "columns": sorted(node.needed)}  # fmt: skip
        case RetractingGroups(_, _, keys, calls, spoken):
            return {
                "groups of": [
                    [column.name, call.function, call.column, call.distinct]
                    + ([call.fraction] if call.fraction is not None else [])
                    for column, call in calls
                ],
                "aggregates": list(spoken),
                "group by": [column.name for column in keys],
                **({} if keys else {"begins": True}),
            }
        case RankedRows():
            return {
                "ranks": node.ranking,
                "partition by": [name.lower() for name in node.keys],
                "order by": [canonical_sql(item) for item in node.order],
                "limit": node.limit,
                "numbered": node.rank is not None,
                "columns": [name.lower() for name in node.columns],
            }
        case RetractingFrames():
            return {
                "window functions": [_describe_window(call) for call in node.calls],
                "partition by": [name.lower() for name in node.keys],
                "order by": [canonical_sql(item) for item in node.order],
                "columns": [name.lower() for name in node.columns],
            }
        case TemporalFilter():
            # The times are computed by the SQL below.
            return {"rows by time": {"enter": node.enters, "leave": node.leaves}, "clock": node.clock}
    assert isinstance(node, TableJoin)
    equal = [[canonical_sql(one), canonical_sql(other)] for one, other in node.keys]
    return {
        "join of tables": node.kind,
        "keys": equal,
        "columns": [list(names) for names in node.columns],
        **({"condition": canonical_sql(node.condition)} if node.condition is not None else {}),
        **({"equal NULLs": sorted(node.null_safe)} if node.null_safe else {}),
    }


def differences(before: object, after: object, place: str = "") -> list[tuple[str, object, object]]:
    """Return where two descriptions differ: the place, what was there and what is there now; None for nothing."""
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        keys = list(dict.fromkeys([*before, *after]))
        parts = [(f"{place}.{key}" if place else str(key), before.get(key), after.get(key)) for key in keys]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        parts = [(f"{place}[{i}]", b, a) for i, (b, a) in enumerate(zip(before, after, strict=True))]
    else:
        return [(place, before, after)]
    return [found for part, b, a in parts for found in differences(b, a, part)]


def spoken_differences(before: object, after: object) -> str:
    """Return the first differences of two descriptions as text."""
    found = differences(before, after)
    lines = [f"{place} was {b} and is {a}" for place, b, a in ((p, *_spoken(b, a)) for p, b, a in found[:_SHOWN])]
    if len(found) > _SHOWN:
        lines.append(f"and {len(found) - _SHOWN} more")
    return "; ".join(lines)


def _describe(node: Node, frame_identity: Callable[[Registered], str]) -> dict:
    match node:
        case Read(Source() as source):
            return _describe_source(source)
        case Read(relation):
            assert isinstance(relation, Registered)
            columns = [[column.name.lower(), _type(column.type)] for column in relation.columns]
            return {"frame": frame_identity(relation), "columns": columns, "watermark": _watermark(relation)}
        case Sql(query, inputs):
            below = {name: _describe(part, frame_identity) for name, part in inputs.items()}
            return {"sql": canonical_sql(query), "inputs": below}
        case Match(match, inputs):
            return {"match": describe_clause(match.clause), "inputs": [_describe(i, frame_identity) for i in inputs]}
        case Deduplicate(rows, inputs):
            asked = {"keys": list(rows.keys), "order by": list(rows.order), "within": rows.within}
            return {"deduplicate": asked, "inputs": [_describe(i, frame_identity) for i in inputs]}
        case Sort(rows, inputs):
            sorted_by = [rows.time.lower(), *(canonical_sql(item) for item in rows.order)]
            return {"sort": sorted_by, "inputs": [_describe(i, frame_identity) for i in inputs]}
        case Over(frames, inputs):
            return describe_frames(frames) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case WindowAggregate(groups, inputs):
            return describe_window_groups(groups) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case Fill(groups, inputs):
            return describe_fill(groups) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case ChangingGroups(groups, inputs):
            return describe_group_changes(groups) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case IntervalJoin(_, inputs):
            return describe_join(node) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case AsOfJoin(_, inputs):
            return describe_as_of_join(node) | {"inputs": [_describe(i, frame_identity) for i in inputs]}
        case Upserts() | RetractingGroups() | TableJoin() | RankedRows() | RetractingFrames() | TemporalFilter():
            return describe_change_operator(node) | {"inputs": [_describe(i, frame_identity) for i in node.inputs]}
        case SparkWatermark(below):
            return _describe(below, frame_identity)
        case LabelledChanges(_, below):
            return _describe(below, frame_identity)
        case AddedRows(_, below):
            return {"added": _describe(below, frame_identity)}


def _describe_source(source: Source) -> dict:
    options = {name.lower(): value for name, value in source.options}
    described = {
        "format": source.format.lower(),
        "streaming": source.streaming,
        "columns": [_describe_column(column) for column in source.columns],
        "options": {name: _option(name, value) for name, value in options.items() if _matters(name)},
        "watermark": _watermark(source),
    }
    if source.value is not None:
        value_options = {name: without_secrets(value) for name, value in source.value.options}
        described["value"] = {"format": source.value.name, "options": value_options}
    if source.backfill is not None:
        history = _describe_source(source.backfill.history)
        described["backfill"] = {"history": history, "until": source.backfill.until}
    return described


def _describe_column(column: ColumnDefinition) -> list:
    metadata = [] if column.metadata is None else [f"metadata {column.metadata.lower()}"]
    return [column.name.lower(), _type(column.type), column.expression, *metadata]


def _matters(option: str) -> bool:
    return not (is_secret(option) or _RATES.fullmatch(option) or _KAFKA_TUNING.fullmatch(option))


def _option(name: str, value: str) -> str:
    local = name == "path" and urlparse(value).scheme in ("", "file")
    return os.path.abspath(os.path.expanduser(re.sub(r"^file:(//)?", "", value))) if local else without_secrets(value)


def _watermark(relation: Source | Registered) -> list | None:
    mark = relation.watermark
    if mark is None:
        return None
    return [mark.column.lower(), mark.delay, *(f"{name} {value}" for name, value in _watermark_clauses(mark))]


def _watermark_clauses(mark: Watermark) -> list[tuple[str, object]]:
    """Return the clauses of a watermark that decide rows, by name; when an alert is raised changes none."""
    given = [(name, getattr(mark, name)) for name in ("heartbeat", "ahead", "reference", "idle", "punctuation")]
    producer = None if mark.producer is None else mark.producer.lower()
    return [(name, value) for name, value in [*given, ("producer", producer)] if value is not None]


def _type(written: str) -> str:
    return re.sub(r"\s+", "", written.lower())


def _spoken(before: object, after: object) -> tuple[str, str]:
    """Return two values as short texts; of long ones what stands around the first difference."""
    texts = ["nothing" if value is None else str(value) for value in (before, after)]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    begin = max(0, alike - _AROUND)
    one, other = (_cut(text, begin if max(map(len, texts)) > _SHORT else 0) for text in texts)
    return one, other


def _cut(text: str, begin: int) -> str:
    shown = text[begin : begin + _SHORT]
    return ("..." if begin else "") + shown + ("..." if begin + _SHORT < len(text) else "")
