"""Statements as text, for the golden files."""

from dataclasses import fields

from cepsql.errors import Span
from cepsql.language.statements import (
    CreateMaterializedView,
    CreateQuery,
    CreateSink,
    CreateSource,
    CreateView,
    DeduplicateClause,
    Defined,
    EmitClause,
    EmittedClause,
    Explain,
    ExplainMatch,
    ExplainReplace,
    Insert,
    MatchClause,
    Name,
    ParsedQuery,
    Statement,
    Summarize,
    WindowClause,
)
from cepsql.language.tokens import DIALECT
from cepsql.pattern.ir import dump as dump_pattern


def dump(statement: Statement) -> str:
    """Write a statement, one fact a line."""
    match statement:
        case ParsedQuery():
            return "\n".join(_query(statement))
        case Explain(query, part):
            return "\n".join([f"explain {part or 'the plan'}", *_explained(query)])
        case ExplainMatch(query, key):
            return "\n".join([f"explain match for {', '.join(map(_sql, key)) or 'all'}", *_explained(query)])
        case CreateView(name, query, sql):
            head = f"create view {name.text}{_flags(statement)}"
            return "\n".join([head, f"  text: {' '.join(sql.split())}", *_query(query)])
        case CreateMaterializedView():
            return "\n".join(
                [f"create materialized view {statement.name.text}{_flags(statement)}", *_stored(statement)]
            )
        case CreateQuery():
            return "\n".join(_registered(statement))
        case ExplainReplace(create):
            return "\n".join(["explain", dump(create)])
        case Insert(target, query, columns):
            listed = f" ({', '.join(column.text for column in columns)})" if columns else ""
            return "\n".join([f"insert into {target.text}{listed}", *_query(query)])
        case Summarize(query):
            return "\n".join(["summarize", *_query(query)])
        case CreateSink():
            return "\n".join(_sink(statement))
        case CreateSource():
            return "\n".join(_source(statement))
    values = [getattr(statement, field.name) for field in fields(statement)]
    words = [value.text if isinstance(value, Name) else repr(value) for value in values if not isinstance(value, Span)]
    return " ".join([type(statement).__name__, *words])


def _explained(query: ParsedQuery | Defined) -> list[str]:
    return [f"{query.kind} {query.name.text}"] if isinstance(query, Defined) else _query(query)


def _query(query: ParsedQuery) -> list[str]:
    lines = []
    for clause in query.operators:
        match clause:
            case MatchClause():
                lines += _match(clause)
            case WindowClause():
                lines += _windows(clause)
            case DeduplicateClause():
                lines += _deduplicate(clause)
            case EmittedClause():
                lines += [f"{clause.name}: {_sql(clause.input)}", *_emit(clause.emit)]
    for window in query.windows:
        lines += _match(window.clause)
        lines.append(f"  on from: {window.base.text}" if window.base is not None else "  on its own")
    lines.append(f"query: {_sql(query.expression)}")
    lines += _emit(query.emit)
    if query.point is not None:
        asked = ["at watermark"] if query.point.at_watermark else []
        asked += [f"after {query.point.after}"] if query.point.after is not None else []
        asked += [f"fresh within {_sql(query.point.fresh)}"] if query.point.fresh is not None else []
        lines.append(f"  as of: {', '.join(asked)}")
    return lines


def _emit(clause: EmitClause | None) -> list[str]:
    if clause is None:
        return []
    lengths = ("every", clause.every), ("lateness", clause.lateness)
    parts = [f" {word} {_sql(length)}" for word, length in lengths if length is not None]
    return [f"  emit: {clause.kind}{''.join(parts)}"]


def _windows(clause: WindowClause) -> list[str]:
    lines = [f"windows {clause.name} over {_sql(clause.input)}", f"  {clause.kind} of {_sql(clause.size)}"]
    for word, part in (("on", clause.time), ("step", clause.step), ("offset", clause.offset)):
        lines += [f"  {word} {_sql(part)}"] if part is not None else []
    if clause.partition_by is not None:
        lines.append(f"  partition by {', '.join(map(_sql, clause.partition_by)) or 'nothing'}")
    if clause.fill is not None:
        items = [f"{_sql(i.value)}{'' if i.name is None else f' for {i.name.text}'}" for i in clause.fill.items]
        limit = "" if clause.fill.limit is None else f", at most {_sql(clause.fill.limit)}"
        lines.append(f"  filled with {', '.join(items)}{limit}")
    return [*lines, "  with window_time"] if clause.timed else lines


def _match(clause: MatchClause) -> list[str]:
    lines = _operator(clause)
    lines += [f"  measure {measure.name.text}: {_sql(measure.expression)}" for measure in clause.measures]
    rows = [str(word) for word in ("all" if clause.rows.all else "one", clause.rows.empty) if word]
    lines.append(f"  rows: {' '.join(rows)}{' with timeouts' if clause.rows.timeouts else ''}")
    lines.append(f"  skip: {clause.skip.target}{f' {clause.skip.variable.text}' if clause.skip.variable else ''}")
    lines.append(f"  pattern: {dump_pattern(clause.pattern)}")
    if clause.frame is not None:
        lines.append(f"  frame: {clause.frame.after}")
    if clause.within is not None:
        lines.append(f"  within: {_sql(clause.within)}")
    for union, members in clause.subsets:
        lines.append(f"  subset {union.text}: {', '.join(member.text for member in members)}")
    lines += [f"  define {name.text}: {_sql(condition)}" for name, condition in clause.defines]
    return lines


def _deduplicate(clause: DeduplicateClause) -> list[str]:
    lines = _operator(clause)
    if clause.within is not None:
        lines.append(f"  within: {_sql(clause.within)}")
    return lines


def _operator(clause: MatchClause | DeduplicateClause) -> list[str]:
    lines = [f"{clause.name}: {_sql(clause.input)}"]
    if clause.partition_by:
        lines.append(f"  partition by: {', '.join(map(_sql, clause.partition_by))}")
    if clause.order_by:
        lines.append(f"  order by: {', '.join(map(_sql, clause.order_by))}")
    return lines


def _source(create: CreateSource) -> list[str]:
    lines = [f"create {'stream' if create.streaming else 'table'} {create.name.text}{_flags(create)}"]
    for column in create.columns:
        computed = f" AS {column.expression}" if column.expression else ""
        computed += f" METADATA FROM {column.metadata!r}" if column.metadata else ""
        lines.append(f"  {column.name}: {column.type}{computed}")
    if create.watermark is not None:
        mark = create.watermark
        clauses = ("ahead", "reference", "idle", "punctuation", "heartbeat", "late_alert")
        parts = [f" {name} {_sql(value)}" for name in clauses if (value := getattr(mark, name)) is not None]
        parts += [f" producer {mark.producer.text}"] if mark.producer is not None else []
        lines.append(f"  watermark {mark.column.text}: {_sql(mark.expression)}{''.join(parts)}")
    lines.append(f"  using {create.format}")
    lines += [f"    {key} = {value!r}" for key, value in create.options]
    if create.value is not None:
        lines.append(f"  format {create.value.format.text}")
        lines += [f"    {key} = {value!r}" for key, value in create.value.options]
    if create.start is not None:
        lines.append(f"  from {create.start.position}{f' {create.start.time!r}' if create.start.time else ''}")
    if create.backfill is not None:
        lines.append(f"  backfill from {create.backfill.history.text} until {_sql(create.backfill.until)}")
    if create.refresh is not None:
        lines.append(f"  refresh {_sql(create.refresh)}")
    if create.late_rows is not None:
        late = create.late_rows
        lines.append(f"  late rows into {late.name.text} using {late.format.text}")
        lines += [f"    {key} = {value!r}" for key, value in late.options]
    return lines


def _sink(create: CreateSink) -> list[str]:
    lines = [f"create sink {create.name.text}{_flags(create)}"]
    lines += [f"  {column.name}: {column.type}" for column in create.columns]
    if create.key:
        lines.append(f"  key: {', '.join(name.text for name in create.key)}")
    return [*lines, f"  using {create.format}", *(f"    {key} = {value!r}" for key, value in create.options)]


def _stored(create: CreateMaterializedView) -> list[str]:
    lines = [f"  in group: {create.group.text}"] if create.group else []
    lines += [f"  key: {', '.join(name.text for name in create.key)}"] if create.key else []
    lines += [f"  index: {', '.join(name.text for name in create.indexes)}"] if create.indexes else []
    lines += [f"  option {name} = {value}" for name, value in create.options]
    lines += ["  with a new checkpoint"] if create.new_checkpoint else []
    return [*lines, f"  text: {create.sql}", f"query: {create.query.expression.sql(dialect='spark')}"]


def _registered(create: CreateQuery) -> list[str]:
    lines = [f"create query {create.name.text}{_flags(create)}"]
    lines += [f"  into: {create.sink.text}"] if create.sink else []
    lines += [f"  {key} = {value!r}" for key, value in create.options]
    lines += [f"  from savepoint: {create.savepoint.text}"] if create.savepoint else []
    lines += ["  with a new checkpoint"] if create.new_checkpoint else []
    lines += [f"  from: {create.start.time or create.start.position}"] if create.start else []
    return [*lines, f"  text: {' '.join(create.sql.split())}", *_query(create.query)]


def _flags(create: CreateSource | CreateView | CreateSink | CreateQuery | CreateMaterializedView) -> str:
    return "".join(
        word for word, said in ((" or replace", create.replace), (" if absent", create.if_not_exists)) if said
    )


def _sql(expression) -> str:
    return expression.sql(dialect=DIALECT)
