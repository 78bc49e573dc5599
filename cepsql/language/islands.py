"""Islands of plain SQL in a statement, which sqlglot parses."""

from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.foreign.accepted_calls import spark_calls
from cepsql.language.foreign.foreign_sql import refuse_foreign, refuse_pipes
from cepsql.language.foreign.group_windows import spark_window
from cepsql.language.foreign.respelling import (
    KEPT,
    distinct_collected,
    epoch_time,
    exclusions_left_out,
    lateral_unnested,
    limit_fetched,
    materialized_left_out,
    refuse_distinct,
    replaced,
    respelt,
    spread_symmetric,
)
from cepsql.language.guard import guarded
from cepsql.language.interval_units import UNITS, respelt_units, spark_interval
from cepsql.language.notes import with_notes
from cepsql.language.rewriting.bare_names import refuse_bare_names
from cepsql.language.rewriting.bloom_filters import bloom_call
from cepsql.language.rewriting.file_tables import name_files, refuse_calls
from cepsql.language.rewriting.generators import spread_generators
from cepsql.language.rewriting.misread import mark_misread, refuse_intervals, refuse_misread
from cepsql.language.rewriting.tried import tried
from cepsql.language.rewriting.variant_path import fold_paths, unfold_paths
from cepsql.language.spark_functions import is_foreign_function
from cepsql.language.syntax_errors import dangling, plain_sql_error
from cepsql.language.tokens import DIALECT, Text, made_token
from cepsql.language.tree_nodes import TreeNodes

KEPT_AGGREGATES = frozenset(
    {"LISTAGG", "STRING_AGG", "PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "MAX_BY", "MIN_BY"}
)
"""Spark aggregates whose arguments sqlglot's expressions lose or change."""

COMPARING = ("LIKE", "ILIKE", "RLIKE", "=", "<", ">", "<=", ">=", "<>", "!=", "==", "<=>")
"""Tokens after which ANY and SOME are not aggregates, as in LIKE ANY ('a', 'b')."""

PLACED = "__at_"
"""The prefix of the names of unnamed parameters, before their position in the text."""

_VALUES = {exp.Struct: TokenType.L_BRACE, exp.Bracket: TokenType.L_BRACKET}
_KEPT_FUNCTIONS = KEPT_AGGREGATES | {"TO_CHAR", "PARSE_JSON"}


def parse_island(text: Text, tokens: list[Token], into: type | None = None) -> exp.Expr:
    """Let sqlglot parse tokens of `text` into an expression of class `into`, None for a statement.

    Raises ProgrammingError with the position of the token that sqlglot does not accept.
    """
    parser = DIALECT.parser()
    span = Span(tokens[0].start, tokens[-1].end + 1)
    refuse_intervals(text, tokens)
    refuse_pipes(tokens, text.sql)
    tokens, places = spark_calls(tokens)
    text.respelt += places
    text.respelt += [token.start for token in tokens if token.text.upper() == "SAFE_CAST"]
    around = zip([None, *tokens[:-1]], tokens, [*tokens[1:], None], strict=True)
    tokens = [_function_name(*triple) for triple in around]
    tokens, paths = fold_paths(tokens)
    tokens = [named for token in tokens for named in _parameter(token)]
    try:
        with guarded(span):
            trees = parser.parse_into(into, tokens, text.sql) if into else parser.parse(tokens, text.sql)
    except ParseError as error:
        raise plain_sql_error(text, tokens, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise ProgrammingError("one expression was expected here", span, None, text.sql)
    tree = unfold_paths(trees[0], paths)
    nodes = TreeNodes(tree)
    _note_parameters(text, tokens, nodes)
    _refuse_names(text, tokens, nodes)
    refuse_bare_names(text, tree)
    mark_misread(text, tokens, nodes)
    if into is not None:
        refuse_misread(nodes, text.sql)
    incomplete = dangling(text, tokens)
    if incomplete is not None:
        raise incomplete
    opaque = next(iter(nodes.of(exp.Command, exp.Parameter)), None)
    if isinstance(opaque, exp.Parameter):
        hint = "values are given by name, cepsql -v name=value, or in the order of ?"
        if nodes.of(exp.Values):
            hint = "VALUES (1, 'a') AS t (x, y) names its columns; " + hint
        raise ProgrammingError("syntax error: a parameter is written :name", span, hint, text.sql)
    if opaque is not None:
        raise NotSupportedError(f"{opaque.this} is not supported", span, None, text.sql)
    _refuse_values(text, tokens, nodes)
    for call in nodes.of(exp.Func):
        if any(message.startswith("Required") for message in call.error_messages()):
            at = next((t for t in tokens if t.text.upper() in call.sql_names()), None)
            place = span if at is None else Span(at.start, at.end + 1)
            raise ProgrammingError("syntax error: arguments are missing in this call", place, None, text.sql)
    for named in nodes.of(exp.Anonymous, exp.Identifier):
        if isinstance(named.this, str) and named.this.startswith(KEPT):
            named.set("this", named.this.removeprefix(KEPT))
    _place_calls(text, nodes)
    tables = nodes.of(exp.Table)
    name_files(text, tables)
    refuse_calls(text, tables)
    text.respelt += [token.start for token in respelt(tokens)]
    refuse_foreign(tokens, nodes, text.sql)
    limit_fetched(nodes)
    exclusions_left_out(nodes)
    lateral_unnested(nodes)
    if materialized_left_out(nodes):
        text.respelt += [token.start for token in tokens if token.text.upper() == "MATERIALIZED"]
    if spread_generators(nodes):
        text.respelt += [token.start for token in tokens if token.text.upper() in ("EXPLODE", "UNNEST")]
    if any(token.token_type == TokenType.INTERVAL for token in tokens):
        tree = replaced(tree, exp.Interval, lambda interval: spark_interval(interval, tokens, text.sql))
        text.respelt += [token.start for token in respelt_units(tokens)]
    if nodes.of(exp.Anonymous):
        tree = replaced(
            tree,
            exp.Anonymous,
            lambda call: (
                spark_window(call) or epoch_time(call) or tried(call, tokens, text.sql) or bloom_call(call, text.sql)
            ),
        )
    # sqlglot moves the content of BigQuery's brackets after them, as in Spark.
    text.respelt += [
        token.start
        for token, after in pairwise(tokens)
        if after.text == ")" and token.text.upper() in ("IGNORE NULLS", "RESPECT NULLS", "NULLS")
    ]
    windows = nodes.of(exp.Window)
    if distinct_collected(windows):
        text.respelt += [token.start for token in tokens if token.text.upper() == "DISTINCT"]
    refuse_distinct(windows, text.sql)
    if nodes.of(exp.Between):
        tree = spread_symmetric(tree)
    if into is not None:
        tree.meta.update(start=span.start, end=span.end - 1)
    return with_notes(tree)


def spelled_interval(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a duration, with INTERVAL added if it is missing: 5 MINUTES, or '5 minutes'."""
    numbers, units = tokens[::2], tokens[1::2]
    counted = all(token.token_type in (TokenType.NUMBER, TokenType.STRING) for token in numbers)
    counted &= len(numbers) == len(units) and all(UNITS.fullmatch(token.text.upper()) for token in units)
    whole = tokens[0].token_type == TokenType.STRING and len(tokens) == 1
    if whole or counted:
        return [made_token(TokenType.INTERVAL, "INTERVAL", tokens[0]), *tokens]
    return tokens


def _refuse_values(text: Text, tokens: list[Token], nodes: TreeNodes) -> None:
    """Refuse brackets after a relation, which sqlglot parses as a value."""
    for clause in nodes.of(exp.From, exp.Join):
        kind = _VALUES.get(type(clause.this))
        if kind is not None:
            relation = (
                [node.meta["end"] for node in clause.this.this.walk() if node.meta_get("end") is not None]
                if kind == TokenType.L_BRACKET
                else []
            )
            at = next(t for t in tokens if t.token_type == kind and t.start > max(relation, default=0))
            raise ProgrammingError(f"syntax error: unexpected {at.text}", Span(at.start, at.end + 1), None, text.sql)


def _refuse_names(text: Text, tokens: list[Token], nodes: TreeNodes) -> None:
    """Refuse parameters that sqlglot parses as names of columns."""
    colons = _colons(tokens)
    aliases = [alias.args["alias"] for alias in nodes.of(exp.Alias)] if colons else []
    wrong = {alias.name for alias in aliases if isinstance(alias, exp.Placeholder)}
    for colon, name in colons:
        if name.text in wrong:
            place = Span(colon.start, colon.start + 1)
            raise ProgrammingError(f"syntax error: unexpected {text.sql[colon.start]}", place, None, text.sql)


def _function_name(before: Token | None, token: Token, following: Token | None) -> Token:
    """Replace names of functions that sqlglot would parse or generate wrongly by names that it does not know."""
    called = following is not None and following.token_type == TokenType.L_PAREN
    heads_groups = before is not None and before.token_type == TokenType.GROUP_BY
    if token.token_type == TokenType.WINDOW and (called or heads_groups):
        # At the head of GROUP BY, sqlglot treats it as the WINDOW clause.
        return made_token(TokenType.VAR, token.text, token)
    if not called:
        return token
    if token.text.upper() == "SAFE_CAST":
        return made_token(TokenType.VAR, "TRY_CAST", token)
    if token.text.upper() == "SESSION":
        # A keyword in sqlglot, but a Flink window in GROUP BY.
        return made_token(TokenType.VAR, token.text, token)
    if token.text.upper() == "MEAN" and token.token_type == TokenType.VAR:
        return made_token(TokenType.VAR, "avg", token)
    keeps_name = token.text.upper() in _KEPT_FUNCTIONS or is_foreign_function(token.text)
    if keeps_name and token.token_type != TokenType.STRING:
        return kept_name(token)
    if token.token_type == TokenType.ANY and (before is None or before.text.upper() not in COMPARING):
        # The aggregate, not the ANY of a comparison.
        return kept_name(token)
    return token


def _parameter(token: Token) -> list[Token]:
    """Name an unnamed parameter, `?`, by its position."""
    if token.token_type != TokenType.PLACEHOLDER:
        return [token]
    return [made_token(TokenType.COLON, ":", token), made_token(TokenType.VAR, f"{PLACED}{token.start}", token)]


def _colons(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """Return each colon and the token after it."""
    return [(colon, after) for colon, after in pairwise(tokens) if colon.token_type == TokenType.COLON]


def _note_parameters(text: Text, tokens: list[Token], nodes: TreeNodes) -> None:
    """Note in the text the positions of an expression's parameters, or, if these are unclear, that there are some."""
    names = sorted(node.name for node in nodes.of(exp.Placeholder))
    places = [
        (Span(colon.start, name.end + 1), name.text)
        for colon, name in _colons(tokens)
        if name.start in (colon.start, colon.end + 1) and name.text in names
    ]
    if sorted(name for _, name in places) == names:
        text.parameters += dict.fromkeys(places)
    else:
        text.parameters += [(Span(tokens[0].start, tokens[0].start), "")]


def kept_name(token: Token) -> Token:
    """Change a function's name to one that sqlglot does not know, so that it keeps the call as written."""
    return made_token(TokenType.VAR, KEPT + token.text, token)


def _place_calls(text: Text, nodes: TreeNodes) -> None:
    """Extend the position of every call to its closing parenthesis; sqlglot ends it at the name."""
    for call in nodes.of(exp.Func):
        name = text.places.get(call.meta_get("start", -1))
        if name is not None and name + 1 in text.closing:
            call.meta["end"] = text.tokens[text.closing[name + 1]].end
