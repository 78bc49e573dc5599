"""Lark trees to statements: clauses become dataclasses, islands of plain SQL become sqlglot expressions."""

import ast
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from lark import Token, Tree
from sqlglot import exp
from sqlglot.tokens import TokenType

from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError, Span, in_text, suggestion
from cepsql.language.as_of_versions import Version, without_versions
from cepsql.language.foreign.computed_types import computed_type
from cepsql.language.foreign.connectors import Connected, Declared, connected, flink_type
from cepsql.language.foreign.explain_details import explained_part
from cepsql.language.foreign.foreign_sql import refuse_hints
from cepsql.language.guard import deep_stack, no_collection
from cepsql.language.islands import COMPARING, kept_name, parse_island, spelled_interval
from cepsql.language.parse import parse
from cepsql.language.pattern_text import fold, parse_pattern
from cepsql.language.rewriting.temporal_joins import with_temporal_joins
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.language.statements import (
    NAVIGATION,
    PICTURES,
    AlterQuery,
    BackfillClause,
    Clause,
    ControlQuery,
    CreateAs,
    CreateMaterializedView,
    CreateQuery,
    CreateSink,
    CreateSource,
    CreateView,
    CreateViewGroup,
    Deallocate,
    DeduplicateClause,
    Defined,
    Describe,
    DescribeQuery,
    Drop,
    DropSavepoint,
    EmitClause,
    EmittedClause,
    ExecutePrepared,
    Explain,
    ExplainAnalyze,
    ExplainMatch,
    ExplainReplace,
    Insert,
    LateRows,
    MatchClause,
    MeasureClause,
    Name,
    ParsedQuery,
    Prepare,
    Print,
    ReadPoint,
    ResetOption,
    Rows,
    SetOption,
    Show,
    ShowCreate,
    ShowFunctions,
    ShowHistory,
    Skip,
    StartClause,
    Statement,
    StreamKey,
    Subscribe,
    Summarize,
    ValueClause,
    WaitFor,
    WatermarkClause,
    WindowPattern,
)
from cepsql.language.tokens import DIALECT, Text, made_token, unquoted
from cepsql.language.type_names import TYPES, check_type
from cepsql.language.window_clauses import alias_tokens, called_windows, named_arguments, written_windows
from cepsql.language.windows_with_patterns import (
    MEASURE,
    missing_frame,
    pattern_frame,
    pattern_window_names,
    sought,
    with_measures,
)


@no_collection()
def statements(sql: str, own: Collection[str] = ()) -> list[Statement]:
    """Read all statements of a text.

    own: functions of the user's, in lower case, that come before those of other engines of the same names.
    Raises ProgrammingError, with position and hint, at the first that is wrong, InterfaceError for what is no text.
    """
    if not isinstance(sql, str):
        raise InterfaceError(f"statements are text, not {type(sql).__name__}")
    text = Text(sql, own=own)
    refuse_hints(text)
    with in_text(sql), deep_stack():
        return [_Translator(text).statement(tree) for tree in parse(text).children if tree is not None]


def one_query(sql: str) -> ParsedQuery:
    """Read a text that is known to be one query; raises as `statements`."""
    (query,) = statements(sql)
    assert isinstance(query, ParsedQuery)
    return query


def emitted_below(query: ParsedQuery) -> ParsedQuery:
    """Return a query with EMIT as one over a relation that comes out so, which is what the query of a view is."""
    if query.emit is None:
        return query
    name = f"__emitted_{len(query.operators)}"
    clause = EmittedClause(name, query.expression, query.emit)
    outer = exp.select("*").from_(exp.to_table(name))
    return replace(query, expression=outer, operators=(*query.operators, clause), emit=None, text=None)


class _Translator:
    """Turns the trees of one statement; numbers its MATCH_RECOGNIZE, DEDUPLICATE and WINDOW clauses, and its windows
    with a row pattern."""

    def __init__(self, text: Text):
        self.text = text
        self.operators: list[Clause] = []
        self.windows: list[WindowPattern] = []
        self.inputs: dict[str, Span] = {}
        self.places: dict[str, Span] = {}

    def statement(self, tree: Tree) -> Statement:
        return getattr(self, tree.data)(tree)

    # Definitions

    def create_stream(self, tree: Tree) -> CreateSource | CreateSink:
        return self._create_source(tree, streaming=True)

    def create_table(self, tree: Tree) -> CreateSource | CreateSink:
        return self._create_source(tree, streaming=False)

    def _create_source(self, tree: Tree, streaming: bool) -> CreateSource | CreateSink:
        columns, spans, watermark = [], {}, None
        where = self._connected(tree)
        streaming = streaming or (where is not None and where.kind == "stream")
        for column in _subtrees(tree, "column", "untyped_column"):
            name, _, expression = _values(column)
            written = self._name(name)
            if written.text.lower() in spans:
                raise self.text.error(f"column {written.text} is defined twice", _begin(name))
            spelled, computed = self._column_type(column, where is not None), None
            if expression is not None:
                respelt = len(self.text.respelt)
                parsed = parse_island(self.text, self._tokens(expression), exp.Condition)
                # Spark reads it as it is written, if it can.
                computed = str(expression) if len(self.text.respelt) == respelt else parsed.sql(DIALECT)
                if spelled is None:
                    spelled, computed = computed_type(self.text, _begin(name), parsed, computed)
            spans[written.text.lower()] = written.span
            carried = _subtree(column, "metadata")
            metadata = None if carried is None else _unquote([*_values(carried), name][0])
            if where is not None and written.text.lower() == where.keyed:
                metadata = "key"
            assert spelled is not None
            columns.append(ColumnDefinition(written.text, spelled, computed, metadata))
        for clause in _subtrees(tree, "watermark"):
            if watermark is not None:
                raise self.text.error("a stream has one watermark", _begin(clause.children[0]))
            watermark = self._watermark(clause)
            if not streaming:
                raise self.text.error(
                    "a bounded table has no watermark", _begin(clause.children[0]), hint="CREATE STREAM has one"
                )
        defined = self._qualified(_needed(tree, "qualified_name"))
        if where is not None and where.kind == "sink":
            key = self._stream_key(tree, columns, True)
            names = key.names if key is not None else ()
            return CreateSink(defined, tuple(columns), names, where.format, where.options, *self._replace_or_keep(tree))
        using = tree if where is not None else _subtree(tree, "using")
        value, start = self._value_format(_subtree(tree, "value_format")), self._start_clause(_subtree(tree, "start"))
        return CreateSource(
            defined,
            tuple(columns),
            spans,
            watermark,
            where.format if where is not None else "" if using is None else _unquote(_values(using)[0]).lower(),
            where.options if where is not None else () if using is None else self._options(using),
            streaming,
            *self._replace_or_keep(tree),
            self._late_rows(_subtree(tree, "late_rows")),
            where.value if where is not None and value is None else value,
            where.start if where is not None and start is None else start,
            self._stream_key(tree, columns, streaming),
            next((self._length(*_values(clause)) for clause in _subtrees(tree, "refresh")), None),
            self._backfill(_subtree(tree, "backfill")),
        )

    def _watermark(self, tree: Tree) -> WatermarkClause:
        column, delay, *_ = _values(tree)
        clauses: dict[str, Any] = {}
        for clause in (child for child in tree.children if isinstance(child, Tree)):
            if clause.data in clauses:
                words = self.text.slice(_begin(clause.children[0]), _begin(_values(clause)[0]))
                raise self.text.error(f"{words.upper()} stands twice", _begin(clause.children[0]))
            values = _values(clause)
            if clause.data == "producer":
                clauses["producer"] = self._name(values[0])
                continue
            clauses[clause.data] = self._length(values[0])
            if len(values) > 1:
                clauses["reference"] = self._expression(values[1])
        clauses["idle"] = clauses.pop("idle_timeout", None)
        return WatermarkClause(
            self._name(column), parse_island(self.text, self._tokens(delay), exp.Condition), **clauses
        )

    def _connected(self, tree: Tree) -> Connected | None:
        """Return what WITH ('connector' = ...) says, None without it."""
        clause = _subtree(tree, "connector")
        if clause is None:
            return None
        key = [(_unquote(name), "") for one in _subtrees(tree, "stream_key") for name in _values(one)]
        types = {}
        for column in _subtrees(tree, "column"):
            name, kind, _ = _values(column)
            types[_unquote(name).lower()] = flink_type(self.text, _begin(kind), _end(kind))
            if _subtree(column, "inline_key") is not None:
                key.append((_unquote(name), ""))
        named = [(name, types.get(name.lower(), "")) for name, _ in key]
        begin = _begin(clause.children[0])
        declared = Declared(
            self._qualified(_needed(tree, "qualified_name")).text, bool(_subtrees(tree, "watermark")), named
        )
        return connected(dict(self._options(clause)), declared, self.text.span(begin, begin + 1), self.text.sql)

    def _column_type(self, column: Tree, foreign: bool) -> str | None:
        """Return the type of a column as it is written, None without one; `foreign`: it may be one of Flink's."""
        name, kind, _ = _values(column)
        if kind is None:
            return None
        if not foreign:
            self._check_type(self._name(name), kind)
            return str(kind)
        spelled = flink_type(self.text, _begin(kind), _end(kind))
        try:
            whole = Text(spelled)
            check_type(whole, 0, len(whole), False)
        except ProgrammingError as error:
            raise self.text.error(error.message, _begin(kind), _end(kind), error.hint) from None
        return spelled

    def _stream_key(self, tree: Tree, columns: list[ColumnDefinition], streaming: bool) -> StreamKey | None:
        trees = _subtrees(tree, "stream_key")
        inline = [column for column in _subtrees(tree, "column") if _subtree(column, "inline_key") is not None]
        if inline:
            keyword = _needed(inline[0], "inline_key").children[0]
            if _type(keyword) == "KEY":
                name = _unquote(_values(inline[0])[0])
                hint = f"{name} STRING METADATA FROM 'key' is the key of a record, PRIMARY KEY ({name}) that of a table"
                raise self.text.error("syntax error: unexpected KEY", _begin(keyword), hint=hint)
            if trees or len(inline) > 1:
                again = trees[0].children[0] if trees else _needed(inline[1], "inline_key").children[0]
                hint = "PRIMARY KEY (a, b) stands once among the columns"
                raise self.text.error("a stream has one PRIMARY KEY", _begin(again), hint=hint)
            if not streaming:
                raise self.text.error(
                    "a bounded table has no PRIMARY KEY", _begin(keyword), hint="CREATE STREAM has one"
                )
            return StreamKey((self._name(_values(inline[0])[0]),), None, self._span(keyword))
        if not trees:
            return None
        begin = _begin(trees[0].children[0])
        if len(trees) > 1:
            raise self.text.error("a stream has one PRIMARY KEY", _begin(trees[1].children[0]))
        if not streaming:
            raise self.text.error("a bounded table has no PRIMARY KEY", begin, hint="CREATE STREAM has one")
        values = _values(trees[0])
        deletion = values.pop() if values[-1].type == "EXPRESSION" else None
        # Those of a stream that are inferred are not known yet.
        named = any(column.expression is None for column in columns)
        names = self._key_names(values, columns if named else [], "stream")
        parsed = None if deletion is None else parse_island(self.text, self._tokens(deletion), exp.Condition)
        return StreamKey(names, parsed, self.text.span(begin, begin + 1))

    def _value_format(self, tree: Tree | None) -> ValueClause | None:
        if tree is None:
            return None
        name = self._name(_values(tree)[0])
        return ValueClause(Name(name.text.lower(), name.span), self._options(tree))

    def _start_clause(self, tree: Tree | None) -> StartClause | None:
        if tree is None:
            return None
        keyword, time = tree.children[1], next(iter(_values(tree)), None)
        span = self.text.span(_begin(tree.children[0]), _end(tree.children[-1]))
        return StartClause(_type(keyword).lower(), time and _unquote(time), span)

    def _backfill(self, tree: Tree | None) -> BackfillClause | None:
        if tree is None:
            return None
        history = self._qualified(_needed(tree, "qualified_name"))
        return BackfillClause(history, self._expression(_values(tree)[0]))

    def _late_rows(self, tree: Tree | None) -> LateRows | None:
        if tree is None:
            return None
        using = _needed(tree, "using")
        format = self._name(_values(using)[0])
        format = Name(format.text.lower(), format.span)
        words = self.text.span(_begin(tree.children[0]), _end(tree.children[2]))
        return LateRows(self._qualified(_needed(tree, "qualified_name")), format, self._options(using), words)

    def _check_type(self, column: Name, kind: Token, lengths: bool = False) -> None:
        word, first = self.text.word(_begin(kind)), _begin(kind)
        if column.text.upper() == "WATERMARK" and word not in TYPES:
            hint = f"WATERMARK FOR {word.lower()} AS {word.lower()} - INTERVAL '10' SECONDS"
            raise self.text.error("syntax error: FOR is missing after WATERMARK", first, hint=hint)
        check_type(self.text, first, _end(kind), lengths)

    def _options(self, using: Tree) -> tuple[tuple[str, str], ...]:
        options: dict[str, str] = {}
        for key, value in (_values(option) for option in _subtrees(using, "option")):
            name = _option_name(key)
            extra = next((i for i in range(_begin(value) + 1, _end(value)) if value[:1] in "'\""), None)
            if extra is not None:
                raise self.text.error(
                    f"syntax error: unexpected {self.text.raw(extra)}", extra, hint="options are separated by commas"
                )
            if name in options:
                raise self.text.error(f"the option {name} is given twice", _begin(key))
            options[name] = _unquote(value)
        return tuple(options.items())

    def _replace_or_keep(self, tree: Tree) -> tuple[bool, bool]:
        replace, keep = _subtree(tree, "or_replace"), _subtree(tree, "if_not_exists")
        if replace is not None and keep is not None:
            raise self.text.error("OR REPLACE and IF NOT EXISTS exclude each other", _begin(keep.children[0]))
        return replace is not None, keep is not None

    def create_view(self, tree: Tree) -> CreateView:
        query = self.query(_needed(tree, "query"))
        return CreateView(
            self._qualified(_needed(tree, "qualified_name")),
            emitted_below(query),
            self.text.portable(query.span),
            *self._replace_or_keep(tree),
        )

    def create_sink(self, tree: Tree) -> CreateSink:
        columns: list[ColumnDefinition] = []
        for column in _subtrees(tree, "column", "untyped_column"):
            name, kind, expression = _values(column)
            written = self._name(name)
            if kind is None:
                raise self.text.error("a column of a sink has a type", _begin(name), hint=f"{written.text} STRING")
            if written.text.upper() == "WATERMARK" and self.text.word(_begin(kind)) == "FOR":
                raise self.text.error("a sink has no watermark", _begin(name), hint="CREATE STREAM has one")
            if expression is not None:
                hint = "compute it in the query that writes to the sink"
                raise self.text.error("a column of a sink is not computed", _begin(expression), hint=hint)
            if any(written.text.lower() == c.name.lower() for c in columns):
                raise self.text.error(f"column {written.text} is defined twice", _begin(name))
            self._check_type(written, kind, lengths=True)
            columns.append(ColumnDefinition(written.text, str(kind)))
        keys = _subtrees(tree, "primary_key")
        inline = [column for column in _subtrees(tree, "column") if _subtree(column, "inline_key") is not None]
        if len(keys) + len(inline) > 1:
            again = keys[-1] if keys else _needed(inline[-1], "inline_key")
            raise self.text.error("a sink has one PRIMARY KEY", _begin(again.children[0]))
        using = _needed(tree, "using")
        return CreateSink(
            self._qualified(_needed(tree, "qualified_name")),
            tuple(columns),
            self._key(keys[0], columns) if keys else tuple(self._name(_values(column)[0]) for column in inline),
            _unquote(_values(using)[0]).lower(),
            self._options(using),
            *self._replace_or_keep(tree),
        )

    def _key(self, tree: Tree, columns: list[ColumnDefinition]) -> tuple[Name, ...]:
        return self._key_names(_values(tree), columns, "sink")

    def _key_names(self, tokens: list[Token], columns: list[ColumnDefinition], relation: str) -> tuple[Name, ...]:
        names = [self._name(token) for token in tokens]
        column_names = [column.name for column in columns]
        for name, token in zip(names, tokens, strict=True):
            if sum(name.text.lower() == other.text.lower() for other in names) > 1:
                raise self.text.error(f"{name.text} stands twice in PRIMARY KEY", _begin(token))
            if column_names and name.text.lower() not in map(str.lower, column_names):
                hint = suggestion(name.text, column_names, "columns")
                raise self.text.error(f"the {relation} has no column {name.text}", _begin(token), hint=hint)
        return tuple(names)

    def create_query(self, tree: Tree) -> CreateQuery:
        query = self.query(_needed(tree, "query"))
        into, savepoint = _subtree(tree, "into"), _subtree(tree, "from_savepoint")
        options, fresh = _subtree(tree, "options"), _subtree(tree, "new_checkpoint")
        return CreateQuery(
            self._qualified(_needed(tree, "qualified_name")),
            self._qualified(_needed(into, "qualified_name")) if into is not None else None,
            self._options(options) if options is not None else (),
            self._name(_values(savepoint)[0]) if savepoint is not None else None,
            query,
            self.text.portable(query.span),
            *self._replace_or_keep(tree),
            fresh is not None,
            self._start_clause(_subtree(fresh, "start")) if fresh is not None else None,
        )

    def create_materialized(self, tree: Tree) -> CreateMaterializedView:
        query = self.query(_needed(tree, "query"))
        key, indexes, options = (_subtree(tree, part) for part in ("primary_key", "indexes", "options"))
        fresh, group = _subtree(tree, "new_checkpoint"), _subtree(tree, "in_group")
        return CreateMaterializedView(
            self._qualified(_needed(tree, "qualified_name")),
            self._key_names(_values(key), [], "view") if key is not None else (),
            tuple(self._name(token) for token in _values(indexes)) if indexes is not None else (),
            self._options(options) if options is not None else (),
            query,
            self.text.portable(query.span),
            *self._replace_or_keep(tree),
            fresh is not None,
            self._start_clause(_subtree(fresh, "start")) if fresh is not None else None,
            self._qualified(_needed(group, "qualified_name")) if group is not None else None,
        )

    def create_group(self, tree: Tree) -> CreateViewGroup:
        options = _subtree(tree, "options")
        return CreateViewGroup(
            self._qualified(_needed(tree, "qualified_name")),
            self._options(options) if options is not None else (),
            _subtree(tree, "if_not_exists") is not None,
        )

    def create_as(self, tree: Tree) -> CreateAs:
        """Read CREATE TABLE or STREAM ... AS; where Flink's WITH says where the rows are kept, that is a format."""
        query, using = self.query(_needed(tree, "query")), _subtree(tree, "using")
        where, keyword = self._connected(tree), _type(next(t for t in tree.children if _is_kind(t)))
        form, options = (where.format, where.options) if where is not None else (None, ())
        if using is not None:
            form, options = _unquote(_values(using)[0]).lower(), self._options(using)
        return CreateAs(
            self._qualified(_needed(tree, "qualified_name")),
            keyword == "STREAM",
            form,
            options,
            query,
            self.text.portable(query.span),
            *self._replace_or_keep(tree),
        )

    def drop(self, tree: Tree) -> Drop:
        words = [_type(token) for token in tree.children if isinstance(token, Token)]
        name = self._qualified(_needed(tree, "qualified_name"))
        return Drop(_kind(words[1:]), name, _subtree(tree, "if_exists") is not None, "CASCADE" in words)

    def drop_savepoint(self, tree: Tree) -> DropSavepoint:
        (name,) = (child for child in tree.children if isinstance(child, Token) and child.type == "OPTION_KEY")
        return DropSavepoint(self._name(name), _subtree(tree, "if_exists") is not None)

    # Standing queries under names

    def control(self, tree: Tree) -> ControlQuery:
        action, savepoint = _type(tree.children[0]).lower(), _subtree(tree, "with_savepoint")
        action = "stop" if action == "terminate" else action
        if savepoint is not None and action != "stop":
            hint = "STOP QUERY name WITH SAVEPOINT 'name'"
            raise self.text.error("only STOP QUERY makes a savepoint", _begin(savepoint.children[0]), hint=hint)
        name = self._qualified(_needed(tree, "qualified_name"))
        made = self._name(_values(savepoint)[0]) if savepoint is not None else None
        return ControlQuery(action, name, made, _whose(tree))

    def alter(self, tree: Tree) -> AlterQuery:
        name = self._qualified(_needed(tree, "qualified_name"))
        keys = [_values(option)[0] for option in _subtrees(tree, "option")] or _values(tree)
        values: list = [value for _, value in self._options(tree)] or [None] * len(keys)
        return AlterQuery(
            name,
            tuple((Name(_option_name(k), self._span(k)), v) for k, v in zip(keys, values, strict=True)),
            _whose(tree),
        )

    def insert(self, tree: Tree) -> Insert:
        names = [child for child in _values(tree) if child.type == "NAME"]
        columns: list[Name] = []
        for column in map(self._name, names):
            if any(column.text.lower() == other.text.lower() for other in columns):
                raise self.text.error(f"column {column.text} is given twice", _begin(names[len(columns)]))
            columns.append(column)
        target = self._qualified(_needed(tree, "qualified_name"))
        return Insert(target, self.query(_needed(tree, "query")), tuple(columns))

    # Questions and settings

    def show(self, tree: Tree) -> Show:
        words = [child for child in tree.children[1:] if isinstance(child, Token) and child.type not in _NOT_KINDS]
        like = next(iter(_values(tree)), None)
        return Show(" ".join(map(_type, words)).lower(), None if like is None else _like(like))

    def show_extended(self, tree: Tree) -> Show:
        like = next(iter(_values(tree)), None)
        return Show(_type(tree.children[2]).lower(), None if like is None else _like(like), extended=True)

    def show_create(self, tree: Tree) -> ShowCreate:
        words = [_type(token) for token in tree.children if isinstance(token, Token)]
        return ShowCreate(_kind(words[2:]), self._qualified(_needed(tree, "qualified_name")))

    def show_history(self, tree: Tree) -> ShowHistory:
        return ShowHistory(self._qualified(_needed(tree, "qualified_name")))

    def show_functions(self, tree: Tree) -> ShowFunctions:
        like = next(iter(_values(tree)), None)
        return ShowFunctions(None if like is None else _like(like))

    def describe(self, tree: Tree) -> Describe:
        return Describe(self._qualified(_needed(tree, "qualified_name")), _is_extended(tree))

    def print(self, tree: Tree) -> Print:
        limit = next((token for token in _values(tree) if token.type == "VALUE"), None)
        if limit is not None and not str(limit).isdecimal():
            raise self.text.error("LIMIT takes a number of rows", _begin(limit))
        topic = next((token for token in _values(tree) if token.type == "TOPIC_TEXT"), None)
        name = self._name(topic) if topic is not None else self._qualified(_needed(tree, "qualified_name"))
        return Print(name, _PRINTED if limit is None else int(limit), topic is not None)

    def subscribe(self, tree: Tree) -> Subscribe:
        since = next((token for token in _values(tree) if token.type == "OPTION_KEY"), None)
        return Subscribe(self._qualified(_needed(tree, "qualified_name")), None if since is None else _unquote(since))

    def summarize(self, tree: Tree) -> Summarize:
        if (query := _subtree(tree, "query")) is not None:
            return Summarize(self.query(query))
        relation = tree.children[1]
        assert isinstance(relation, Token)
        at = self.text.tokens[_begin(relation)]
        select = [(TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")]
        tokens = [made_token(kind, word, at) for kind, word in select] + self._tokens(relation)
        expression = parse_island(self.text, tokens)
        assert isinstance(expression, exp.Query)
        return Summarize(ParsedQuery(expression, (), self.text.sql, self._span(relation)))

    def describe_query(self, tree: Tree) -> DescribeQuery:
        return DescribeQuery(self._qualified(_needed(tree, "qualified_name")), _is_extended(tree))

    def explain(self, tree: Tree) -> Explain:
        part = tree.children[1]
        if part is not None and _type(part) == "EXPLAIN_DETAILS":
            return Explain(self._explained(tree), explained_part(self.text, _begin(part), _end(part)))
        return Explain(self._explained(tree), _PARTS.get(_type(part), _type(part).lower()) if part else None)

    def _explained(self, tree: Tree) -> ParsedQuery | Defined:
        """Return the query that EXPLAIN is about, or what it is called in the catalog."""
        defined = _subtree(tree, "defined")
        if defined is None:
            return self.query(_needed(tree, "query"))
        return Defined(_type(defined.children[0]).lower(), self._qualified(_needed(defined, "qualified_name")))

    def explain_query(self, tree: Tree) -> Explain:
        (name,) = _values(tree)
        return Explain(Defined("query", self._name(name)), None)

    def prepare(self, tree: Tree) -> Prepare:
        (name, *parameters), whole = _values(tree), _needed(tree, "statement_text")
        inner = self.statement(whole.children[0])
        assert isinstance(inner, ParsedQuery | Insert)
        end = (inner if isinstance(inner, ParsedQuery) else inner.query).span.end
        last = self.text.tokens[_end(parameters[-1] if parameters else name) + bool(parameters) + 1 :]
        names = tuple(self._name(parameter).text for parameter in parameters)
        return Prepare(self._name(name), self.text.portable(Span(last[0].start, end)), names)

    def execute(self, tree: Tree) -> ExecutePrepared:
        name, *values = _values(tree)
        return ExecutePrepared(self._name(name), None, self._constants(values), self._span(name))

    def execute_text(self, tree: Tree) -> ExecutePrepared:
        sql, *values = _values(tree)
        return ExecutePrepared(None, _unquote(sql), self._constants(values), self._span(sql))

    def _constants(self, lists: list[Token]) -> tuple[exp.Expr, ...]:
        """Read the values of EXECUTE, which commas separate."""
        constants = []
        for values in lists:
            begin, i = _begin(values), _begin(values)
            while i <= _end(values):
                if i == _end(values) or self.text.raw(i) == ",":
                    if i == begin:
                        raise self.text.error("a value is missing here", i)
                    constants.append(parse_island(self.text, self.text.tokens[begin:i], exp.Condition))
                    begin = i + 1
                i = self.text.closing.get(i, i) + 1
        return tuple(constants)

    def deallocate(self, tree: Tree) -> Deallocate:
        return Deallocate(self._name(_values(tree)[0]))

    def explain_picture(self, tree: Tree) -> Explain:
        form = _values(tree)[0]
        if form.lower() not in PICTURES:
            hint = f"pictures: {', '.join(map(str.upper, PICTURES))}"
            raise self.text.error(f"there is no picture of the form {form}", _begin(form), hint=hint)
        return Explain(self._explained(tree), form.lower())

    def explain_match(self, tree: Tree) -> ExplainMatch:
        values = _values(_subtree(tree, "for_key"))
        return ExplainMatch(
            self._explained(tree), tuple(parse_island(self.text, self._tokens(v), exp.Condition) for v in values)
        )

    def explain_analyze(self, tree: Tree) -> ExplainAnalyze:
        return ExplainAnalyze(self._qualified(_needed(tree, "qualified_name")))

    def explain_replace(self, tree: Tree) -> ExplainReplace:
        return ExplainReplace(replace(self.create_query(tree), replace=True))

    def explain_replace_view(self, tree: Tree) -> ExplainReplace:
        return ExplainReplace(replace(self.create_materialized(tree), replace=True))

    def set(self, tree: Tree) -> SetOption:
        key, value = [*_values(tree), None, None][:2]
        return SetOption(key and self._name(key), value and _unquote(value))

    def reset(self, tree: Tree) -> ResetOption:
        key = _values(tree)[0]
        return ResetOption(key and self._name(key))

    # Queries

    def query(self, tree: Tree) -> ParsedQuery:
        emit, point = _subtree(tree, "emit"), _subtree(tree, "read_point")
        others = [part for part in tree.children if part is not emit and part is not point]
        tree = Tree(tree.data, [part for part in others if part is not None])
        tokens, versions = without_versions(self.text, self._query_tokens(tree))
        span = Span(tokens[0].start, self._statement_end(tokens[-1].start))
        expression = self._parsed(tokens, span, emit)
        return ParsedQuery(
            expression,
            tuple(self.operators),
            self.text.sql,
            span,
            self.text.span(self._start(tree), self._stop(tree)),
            self.inputs,
            self.places,
            tuple(Name(name, place) for place, name in self.text.parameters),
            emit=None if emit is None else self._emit(emit),
            windows=tuple(self.windows),
            respelt=tuple(self.text.respelt),
            point=self._point(point, versions),
        )

    def _parsed(self, tokens: list, span: Span, emit: Tree | None) -> exp.Query:
        """Return the tree of a query's tokens, with the LIMIT behind its EMIT."""
        expression = parse_island(self.text, with_temporal_joins(self.text, tokens))
        self._forget_inner_aliases(expression)
        _name_measures(expression)
        if isinstance(expression, exp.Values | exp.Table):
            expression = exp.select("*").from_(expression)
        counted = _subtree(emit, "emit_limit")
        if counted is not None and isinstance(expression, exp.Query):
            number = _values(counted)[0]
            if not str(number).isdecimal():
                raise self.text.error("LIMIT takes a number of rows", _begin(number))
            if expression.args.get("limit") is not None:
                raise self.text.error("LIMIT stands here for the second time", _begin(number) - 1)
            expression = expression.limit(int(number))
            self.text.respelt.append(span.start)
        if not isinstance(expression, exp.Query):
            word = self.text.sql[tokens[0].start : tokens[0].end + 1].upper()
            named = word == "TABLE" and len(tokens) > 1
            hint = f"SELECT * FROM {tokens[1].text}" if named else "SELECT ... FROM ... is"
            raise NotSupportedError(f"{word} is not supported here", span, hint, self.text.sql)
        return expression

    def _point(self, point: Tree | None, versions: tuple[Version, ...]) -> ReadPoint | None:
        if point is None and not versions:
            return None
        said = ReadPoint(False, None, None, versions[0].span) if point is None else self._read_point(point)
        return replace(said, versions=versions)

    def _read_point(self, tree: Tree) -> ReadPoint:
        after, fresh = _subtree(tree, "after_token"), _subtree(tree, "fresh")
        begin = min(_begin(child) for part in tree.children if part is not None for child in part.children[:1])
        return ReadPoint(
            _subtree(tree, "at_watermark") is not None,
            None if after is None else _option_name(_values(after)[0]),
            None if fresh is None else self._length(_values(fresh)[0]),
            self.text.span(begin, begin + 2),
        )

    def wait_for(self, tree: Tree) -> WaitFor:
        token, *timeout = _values(tree)
        length = self._length(timeout[0]) if timeout else None
        begin = _begin(tree.children[0])
        name = self._qualified(_needed(tree, "qualified_name"))
        return WaitFor(name, _option_name(token), length, self.text.span(begin, begin + 2))

    def _emit(self, tree: Tree) -> EmitClause:
        words = [child for child in tree.children if isinstance(child, Token) and child.type != "EXPRESSION"]
        kind = {"ON": "close", "CHANGES": "changes", "EVERY": "every"}[_type(words[1])]
        lengths = [self._length(island) for island in _values(tree)]
        every = lengths.pop(0) if kind == "every" else None
        span = self.text.span(_begin(words[0]), _begin(words[0]) + (4 if kind == "close" else 2))
        return EmitClause(kind, every, lengths[0] if lengths else None, span)

    def _start(self, part: Tree | Token) -> int:
        """Return the token with which a part of a query begins."""
        if isinstance(part, Token):
            return _begin(part)
        # The parentheses are filtered from the tree: they stand beside what they hold.
        return self._start(part.children[0]) - (part.data == "nested")

    def _stop(self, part: Tree | Token) -> int:
        """Return the token after a part of a query."""
        if isinstance(part, Token):
            return _end(part)
        if part.data == "window_pattern":
            return self.text.closing[_begin(part.children[0])] + 1
        if part.data in _OPERATORS:
            alias = part.children[-1]
            return _end(alias) if isinstance(alias, Token) and alias.type == "TABLE_ALIAS" else self._closed(part)
        last = next(child for child in reversed(part.children) if child is not None)
        return self._stop(last) + (part.data == "nested")

    def _closed(self, operator: Tree) -> int:
        """Return the token after the bracket that closes an operator."""
        opening = _begin(operator.children[0]) + (2 if operator.data == "window" else 1)
        fill = _subtree(operator, "fill")
        if fill is not None:
            opening = _begin(fill.children[0]) + 1
        return self.text.closing[opening] + 1

    def _statement_end(self, start: int) -> int:
        """Return the character where the statement that holds character `start` ends; a query always ends it."""
        following = [
            i for i, t in enumerate(self.text.tokens) if t.start > start and t.token_type == TokenType.SEMICOLON
        ]
        return self.text.span(0, following[0] if following else len(self.text)).end

    def _query_tokens(self, tree: Tree) -> list:
        """Return the tokens of a query with a placeholder table for every operator."""
        tokens: list = []
        for part in tree.children:
            tokens += self._part_tokens(part)
        return tokens

    def _part_tokens(self, part: Tree | Token) -> list:
        if isinstance(part, Token):
            sql = part.type == "SQL" and self._pattern_windows
            return with_measures(self.text, _begin(part), _end(part), sql) if sql else self._tokens(part)
        match part.data:
            case "window_pattern":
                return self._window_tokens(part)
            case "nested" if (item := _only_item(part)) is not None:
                return self._from_item_tokens(item)
            case "nested" if _needed_child(part).data == "emitted_query":
                return self._emitted_tokens(_needed_child(part))
            case "nested":
                inner = self._query_tokens(part.children[0])
                # The parentheses are filtered from the tree: they stand beside what they hold.
                before, after = self._bracket(inner[0], -1), self._bracket(inner[-1], 1)
                return [made_token(TokenType.L_PAREN, "(", before), *inner, made_token(TokenType.R_PAREN, ")", after)]
            case "from_item":
                return self._from_item_tokens(part)
        tokens = self._part_tokens(part.children[0])
        for position, item in enumerate(part.children[1:]):
            if position:
                tokens.append(made_token(TokenType.COMMA, ",", tokens[-1]))
            tokens += self._part_tokens(item)
        return tokens

    @cached_property
    def _pattern_windows(self) -> frozenset[str]:
        return pattern_window_names(self.text)

    def _emitted_tokens(self, tree: Tree) -> list:
        """Record a subquery with EMIT; return the tokens of one over the placeholder table that stands for it."""
        emit = _needed(tree, "emit")
        tokens = self._query_tokens(Tree(tree.data, [part for part in tree.children if part is not emit]))
        span = Span(tokens[0].start, tokens[-1].end + 1)
        name, made = f"__emitted_{len(self.operators)}", tokens[0]
        self.operators.append(EmittedClause(name, self._parsed(tokens, span, emit), self._emit(emit)))
        # Spark is not given the text around it, which has EMIT in it.
        self.text.respelt.append(self._bracket(made, -1).start)
        return [
            made_token(TokenType.L_PAREN, "(", made),
            made_token(TokenType.SELECT, "SELECT", made),
            made_token(TokenType.STAR, "*", made),
            made_token(TokenType.FROM, "FROM", made),
            made_token(TokenType.VAR, name, made),
            made_token(TokenType.R_PAREN, ")", made),
        ]

    def _window_tokens(self, tree: Tree) -> list:
        """Record a window with a row pattern; return the tokens of the placeholder window that stands for it."""
        opening = _begin(tree.children[0])
        name, word = f"__pattern_{len(self.windows)}", _needed(tree, "pattern").children[0]
        parts = {child.type: child for child in tree.children if isinstance(child, Token)}
        if "FRAME" not in parts:
            raise missing_frame(self.text, _begin(word))
        frame = pattern_frame(self.text, _begin(parts["FRAME"]), _end(parts["FRAME"]))
        base = self._name(parts["NAME"]) if "NAME" in parts else None
        clause = replace(
            self._match(tree, name, exp.select("*")), frame=frame, rows=Rows(True, "each"), span=self._span(word)
        )
        if "SEEK" in parts:
            clause = sought(self.text, _begin(parts["SEEK"]), clause)
        self.windows.append(WindowPattern(name, base, clause))
        around = self.text.tokens[opening], self.text.tokens[self.text.closing[opening]]
        return [around[0], made_token(TokenType.VAR, name, around[0]), around[1]]

    def _bracket(self, neighbour, step: int):
        index = next(i for i, t in enumerate(self.text.tokens) if t.start == neighbour.start) + step
        return self.text.tokens[min(max(index, 0), len(self.text) - 1)]

    def _from_item_tokens(self, item: Tree) -> list:
        tokens: list = []
        for part in item.children:
            if isinstance(part, Tree) and part.data in _OPERATORS:
                tokens = self._hoist(part, tokens, self._start(item.children[0]))
            elif part is not None:
                if tokens and _only_item(item.children[0]) is not None:
                    # The alias of the bracket hides the one in it.
                    tokens = tokens[:1]
                tokens += self._part_tokens(part)
        return tokens

    def _hoist(self, tree: Tree, relation: list, start: int) -> list:
        """Record an operator over `relation`, which begins at token `start`; return the tokens of the placeholder table
        that stands for it."""
        keyword = tree.children[0]
        at = self.text.tokens[_begin(keyword)]
        called = named_arguments(self.text, tree) if tree.data == "window_function" else None
        if called is not None:
            relation = self._argument_tokens(tree, called.relation)
        select = [(TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")]
        source = parse_island(
            self.text,
            [made_token(kind, word, relation[0]) for kind, word in select] + with_temporal_joins(self.text, relation),
        )
        assert isinstance(source, exp.Query)
        self._forget_inner_aliases(source)
        _name_measures(source)
        alias = next((c for c in tree.children if isinstance(c, Token) and c.type == "TABLE_ALIAS"), None)
        around = self._tokens(alias) if alias else []
        if called is not None:
            name = f"__window_{len(self.operators)}"
            self.operators.append(called_windows(self.text, called, name, source))
        elif tree.data == "window":
            name = f"__window_{len(self.operators)}"
            self.operators.append(written_windows(self.text, tree, name, source))
            # Unless it has an alias of its own, the relation keeps its name.
            around = around or alias_tokens(source, at)
        elif tree.data == "deduplicate":
            name = f"__first_{len(self.operators)}"
            self.operators.append(self._deduplicate(tree, name, source))
        else:
            name = f"__match_{len(self.operators)}"
            self.operators.append(self._match(tree, name, source))
        read = range(start, _begin(keyword)) if called is None else called.relation
        self.inputs[name] = self.text.span(read.start, read.stop)
        self.places[name] = self.text.span(start, self._closed(tree))
        return [made_token(TokenType.VAR, name, at), *around]

    def _argument_tokens(self, call: Tree, argument: range) -> list:
        """Return the tokens of an argument of TABLE(TUMBLE(...)), with a placeholder table for every operator in it."""
        tokens, at = [], argument.start
        for part in (child for child in call.children if isinstance(child, Tree)):
            if self._start(part) in argument:
                tokens += [*self.text.tokens[at : self._start(part)], *self._part_tokens(part)]
                at = self._stop(part)
        return tokens + self.text.tokens[at : argument.stop]

    def _forget_inner_aliases(self, query: exp.Expr) -> None:
        """Let names that a placeholder table has from within its operator's text have no place in the text."""
        for table in query.find_all(exp.Table):
            place, alias = self.places.get(table.name), table.args.get("alias")
            name = alias.this if alias is not None else None
            if place is not None and name is not None and place.start <= name.meta_get("start", -1) < place.end:
                del name.meta["start"], name.meta["end"]

    def _deduplicate(self, tree: Tree, name: str, source: exp.Query) -> DeduplicateClause:
        within = _subtree(tree, "within")
        return DeduplicateClause(
            name,
            source,
            tuple(self._expression(e).unnest() for e in _values(_subtree(tree, "partition_by"))),
            self._order_by(tree),
            self._length(_values(within)[0]) if within is not None else None,
            self._span(tree.children[0]),
        )

    def _match(self, tree: Tree, name: str, source: exp.Query) -> MatchClause:
        pattern_text = _needed(tree, "pattern").children[-1]
        pattern, names = parse_pattern(str(pattern_text), self._span(pattern_text).start)
        within = _subtree(tree, "within")
        define = _subtree(tree, "define")
        subset = _subtree(tree, "subset")
        return MatchClause(
            name,
            source,
            tuple(self._expression(e).unnest() for e in _values(_subtree(tree, "partition_by"))),
            self._order_by(tree),
            tuple(self._measure(m) for m in _subtrees(_subtree(tree, "measures"), "measure")),
            self._rows(tree),
            self._skip(_subtree(tree, "after_match")),
            pattern,
            names,
            self._length(_values(within)[0]) if within is not None else None,
            tuple(
                (self._variable(union), tuple(self._variable(v) for v in members))
                for union, *members in (_values(item) for item in _subtrees(subset, "subset_item"))
            ),
            tuple(
                (self._variable(variable), self._expression(condition))
                for variable, condition in (_values(item) for item in _subtrees(define, "definition"))
            ),
            self._span(tree.children[0]),
        )

    def _order_by(self, tree: Tree) -> tuple[exp.Ordered, ...]:
        return tuple(self._ordered(island) for island in _values(_subtree(tree, "order_by")))

    def _ordered(self, island: Token) -> exp.Ordered:
        ordered = parse_island(self.text, self._tokens(island), exp.Ordered)
        assert isinstance(ordered, exp.Ordered)
        return ordered

    def _measure(self, tree: Tree) -> MeasureClause:
        expression, name = _values(tree)
        return MeasureClause(self._expression(expression), self._name(name))

    def _rows(self, tree: Tree) -> Rows:
        rows = _subtree(tree, "one_row") or _subtree(tree, "all_rows")
        if rows is None:
            return Rows()
        empty = {"show_empty": "show", "omit_empty": "omit", "with_unmatched": "unmatched"}
        kinds = [c.data for c in rows.children if isinstance(c, Tree)]
        first = rows.children[0]
        return Rows(
            rows.data == "all_rows",
            next((empty[kind] for kind in kinds if kind in empty), None),
            "timeout_matches" in kinds,
            self.text.span(_begin(first), _begin(first) + 4),
        )

    def _skip(self, tree: Tree | None) -> Skip:
        if tree is None:
            return Skip()
        target = tree.children[-1]
        variable = next((self._variable(t) for t in _values(target)), None)
        names = {"to_first": "to first", "to_last": "to last", "to_variable": "to last"}
        kind = names.get(target.data) or target.data.replace("_", " ")
        last = target.children[-1]
        return Skip(kind, variable, self.text.span(_begin(tree.children[0]), _end(last)))

    # Leaves

    def _tokens(self, island: Token) -> list:
        return self.text.tokens[_begin(island) : _end(island)]

    def _span(self, token: Token | Tree) -> Span:
        return self.text.span(_begin(token), _end(token))

    def _expression(self, island: Token) -> exp.Expr:
        """Read an expression of the match clause; see `NAVIGATION`."""
        return parse_island(self.text, self._navigation(_begin(island), _end(island)), exp.Condition)

    def _length(self, island: Token) -> exp.Expr:
        """Read a length of time, or what stands in its place."""
        return parse_island(self.text, spelled_interval(self._tokens(island)), exp.Condition)

    def _navigation(self, i: int, end: int) -> list:
        tokens: list = []
        while i < end:
            word, called = self.text.word(i), self.text.raw(i + 1) == "("
            if word in ("FIRST", "LAST") and called:
                tokens.append(made_token(TokenType.VAR, NAVIGATION[word], self.text.tokens[i]))
            elif word in SPARK_AGGREGATES and called and not (word in ("ANY", "SOME") and self._quantifies(i)):
                tokens.append(kept_name(self.text.tokens[i]))
            elif word in ("RUNNING", "FINAL") and self.text.word(i + 1) and self.text.raw(i + 2) == "(":
                close = self._call_end(i + 2)
                at = self.text.tokens[i]
                tokens += [made_token(TokenType.VAR, NAVIGATION[word], at), made_token(TokenType.L_PAREN, "(", at)]
                tokens += self._navigation(i + 1, close + 1)
                tokens.append(made_token(TokenType.R_PAREN, ")", self.text.tokens[close]))
                i = close
            elif self.text.raw(i) == "(" and self.text.word(i + 1) in ("SELECT", "WITH", "VALUES"):
                # What stands in a subquery is plain SQL.
                close = self.text.closing[i]
                tokens += self.text.tokens[i : close + 1]
                i = close
            elif word == "COUNT" and called and self.text.raw(i + 2) == ")":
                # The standard's row patterns have COUNT() for COUNT(*).
                star = made_token(TokenType.STAR, "*", self.text.tokens[i + 1])
                tokens += [*self.text.tokens[i : i + 2], star, self.text.tokens[i + 2]]
                i += 2
            elif self.text.raw(i)[:1] == '"' and self.text.raw(i + 1) == ".":
                # A quoted pattern variable, as PATTERN takes it; elsewhere double quotes make a string.
                tokens.append(made_token(TokenType.IDENTIFIER, _unquote(self.text.raw(i)), self.text.tokens[i]))
            else:
                tokens.append(self.text.tokens[i])
            i += 1
        return tokens

    def _call_end(self, opening: int) -> int:
        """Return the last token of a call with what belongs to an aggregate: WITHIN GROUP, FILTER, IGNORE NULLS."""
        end = self.text.closing[opening]
        while True:
            words = f"{self.text.word(end + 1)} {self.text.word(end + 2)}".strip()
            if words.startswith("FILTER") and self.text.raw(end + 2) == "(":
                end = self.text.closing[end + 2]
            elif words == "WITHIN GROUP" and self.text.raw(end + 3) == "(":
                end = self.text.closing[end + 3]
            elif words in ("IGNORE NULLS", "RESPECT NULLS"):
                end += 2
            else:
                return end

    def _quantifies(self, i: int) -> bool:
        """Tell whether ANY or SOME belongs to a comparison, as in LIKE ANY ('a', 'b')."""
        return i > 0 and self.text.raw(i - 1).upper() in COMPARING

    def _name(self, token: Token) -> Name:
        return Name(_unquote(token), self._span(token))

    def _variable(self, token: Token) -> Name:
        return Name(fold(str(token)), self._span(token))

    def _qualified(self, tree: Tree) -> Name:
        parts = _values(tree)
        span = Span(self._span(parts[0]).start, self._span(parts[-1]).end)
        return Name(".".join(_unquote(part) for part in parts), span)


_OPERATORS = ("match_recognize", "deduplicate", "window", "window_function")

_PRINTED = 10
"""Rows that PRINT shows if nothing else is said."""

_PARTS = {"SPARK": "physical", "FORMATTED": "physical", "EXTENDED": "all"}
"""Words behind EXPLAIN that ask for what another one asks for, too."""

_ISLAND_TYPES = {
    "NAME", "TYPE", "EXPRESSION", "ORDERED", "OPTION_KEY", "VALUE", "PATTERN_TEXT", "TOPIC_TEXT", "QUERY_NAME",
    "CONSTANT_LIST",
}  # fmt: skip


def _values(tree: Tree | None) -> list:
    """Return the islands below a node, without its keywords; an optional island that is absent is None."""
    if tree is None:
        return []
    islands = [t for t in tree.children if t is None or (isinstance(t, Token) and t.type in _ISLAND_TYPES)]
    if tree.data == "untyped_column":
        return [islands[0], None, islands[1]]
    keyword_gaps = {"column": 3}
    wanted = keyword_gaps.get(tree.data)
    if wanted:
        return [t for t in islands if t is not None] + [None] * (wanted - sum(t is not None for t in islands))
    return [t for t in islands if t is not None] or ([None] if tree.data in ("set", "reset") else [])


def _needed_child(part: Tree) -> Tree:
    """Return what brackets hold."""
    (inner,) = part.children
    assert isinstance(inner, Tree)
    return inner


def _only_item(part: Tree | Token | None) -> Tree | None:
    """Return the relation with operators that a bracket holds if nothing else is in it: (t MATCH_RECOGNIZE (...))."""
    while isinstance(part, Tree) and part.data in ("nested", "query", "relation") and len(part.children) == 1:
        part = part.children[0]
    return part if isinstance(part, Tree) and part.data == "from_item" else None


def _begin(token: Token | Tree) -> int:
    """Return the place of an island or keyword among the tokens of the text."""
    assert isinstance(token, Token) and token.start_pos is not None
    return token.start_pos


def _end(token: Token | Tree) -> int:
    """Return the place after an island or keyword."""
    assert isinstance(token, Token) and token.end_pos is not None
    return token.end_pos


def _type(keyword: Token | Tree) -> str:
    assert isinstance(keyword, Token)
    return keyword.type


_NOT_KINDS = ("LIKE", "OPTION_KEY")


def _kind(words: list[str]) -> str:
    """Return the kind of a definition that these words begin with."""
    count = 2 if words[:1] == ["MATERIALIZED"] or words[:2] == ["VIEW", "GROUP"] else 1
    return " ".join(words[:count]).lower()


def _whose(tree: Tree) -> str:
    """Return whose query a statement is about, of which the kind stands after its first word."""
    words = [child.type for child in tree.children[1:] if isinstance(child, Token)]
    kind = _kind(words) if words else "query"
    return "materialized view" if kind == "view" else kind


def _needed(tree: Tree, kind: str) -> Tree:
    """Return the subtree of a kind that the grammar demands."""
    return _subtrees(tree, kind)[0]


def _subtree(tree: Tree | None, kind: str) -> Tree | None:
    return next(iter(_subtrees(tree, kind)), None)


def _subtrees(tree: Tree | None, *kinds: str) -> list[Tree]:
    return [c for c in tree.children if isinstance(c, Tree) and c.data in kinds] if tree is not None else []


def _like(pattern: Token) -> str:
    """Return a pattern of LIKE with `*` for any text and `?` for a character."""
    text = _unquote(pattern)
    # With Spark's star, an underscore is one: many names have some.
    return text if "*" in text else text.replace("%", "*").replace("_", "?")


def _is_kind(part: Tree | Token | None) -> bool:
    """Tell whether a part of CREATE is the word for what is made."""
    return isinstance(part, Token) and part.type in ("STREAM", "TABLE")


def _is_extended(tree: Tree) -> bool:
    return any(isinstance(token, Token) and token.type == "EXTENDED" for token in tree.children)


def _name_measures(query: exp.Expr) -> None:
    """Let what is only a measure over a window with a row pattern, in SELECT, have the measure's name."""
    for select in query.find_all(exp.Select):
        for item in select.expressions:
            call = item.this if isinstance(item, exp.Window) else None
            if isinstance(call, exp.Anonymous) and call.name == MEASURE:
                item.replace(exp.alias_(item.copy(), call.expressions[0].name, quoted=True))


def _option_name(key: str) -> str:
    """Return the name of an option; those of Spark's settings are written as they are."""
    name = _unquote(key)
    return name if key[:1] in "'\"" or name.startswith("spark.") else name.lower()


def _unquote(token: str) -> str:
    """Return the name or text that a token stands for; one without quotes stands for itself."""
    if (quote := token[:1]) in ("'", '"'):
        return re.sub(f"{quote}{quote}|{_ESCAPE}", lambda part: _character(part.group()), token[1:-1])
    return unquoted(str(token))


_ESCAPE = r"""\\(?:[abfnrtv\\'"\n]|[0-3]?[0-7]{1,2}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"""
"""A backslash and what follows it, which together stand for a character; before anything else it stands for itself."""


def _character(written: str) -> str:
    """Return the character that two quotes or an escape stand for; an escape of no character stays as it is written."""
    if written[0] != "\\":
        return written[0]
    try:
        character = ast.literal_eval(f"'{written}'")
    except (SyntaxError, ValueError):
        return written
    # Half of a pair of UTF-16 is no character.
    return written if "\ud800" <= character <= "\udfff" else character
