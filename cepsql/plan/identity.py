"""What a query is, as data: the canonical description that a checkpoint keeps, and how two of them differ."""

import os
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any
from urllib.parse import urlparse

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.base.secrets import is_secret, without_secrets
from cepsql.catalog import ColumnDefinition, Registered, Source, Watermark
from cepsql.language.interval_units import in_months
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import AddedRows, LabelledChanges, Node, Ordered, Read, SparkWatermark, Sql

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
    parts = {name: kept_description(part) for name, part in described.items()}
    if "format" in parts and "options" in parts:
        parts["options"] = {name: without_secrets(value) for name, value in parts["options"].items()}
    return parts


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
    return [inner for part, b, a in parts for inner in differences(b, a, part)]


def spoken_differences(before: object, after: object) -> str:
    """Return the first differences of two descriptions as text."""
    differing = differences(before, after)
    lines = [f"{place} was {b} and is {a}" for place, b, a in ((p, *_spoken(b, a)) for p, b, a in differing[:_SHOWN])]
    if len(differing) > _SHOWN:
        lines.append(f"and {len(differing) - _SHOWN} more")
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
        case Ordered():
            return node.describe() | {"inputs": [_describe(part, frame_identity) for part in node.inputs]}
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
    clauses = [(name, getattr(mark, name)) for name in ("heartbeat", "ahead", "reference", "idle", "punctuation")]
    producer = None if mark.producer is None else mark.producer.lower()
    return [(name, value) for name, value in [*clauses, ("producer", producer)] if value is not None]


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
