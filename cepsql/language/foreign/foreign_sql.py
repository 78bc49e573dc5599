"""What sqlglot reads in a statement, and Spark's SQL does not have: written anew, it would be left out."""

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, Span
from cepsql.language.foreign.foreign_arguments import refuse_foreign_arguments
from cepsql.language.foreign.foreign_expressions import refuse_foreign_expressions
from cepsql.language.tokens import COMMENT, Text
from cepsql.language.tree_nodes import TreeNodes

_IN_AGGREGATES: dict[type[exp.Expr], tuple[TokenType, str]] = {
    exp.Order: (TokenType.ORDER_BY, "ORDER BY"),
    exp.Limit: (TokenType.LIMIT, "LIMIT"),
    exp.HavingMax: (TokenType.HAVING, "HAVING"),
}
_TIES_HINT = "QUALIFY RANK() OVER (ORDER BY x) <= n gives rows that are equal to the last one, too"
"""What takes the place of WITH TIES."""

_CONDITIONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)

_OTHER_WORDS = {"ANY": "SOME"}
"""Words that mean the same."""

_HINTS = {
    "ORDER BY": "LISTAGG and percentiles take WITHIN GROUP (ORDER BY ...); array_sort(array_agg(x)) sorts a list",
    "HAVING": "max_by(x, y) is x where y is greatest",
    "LIMIT": "slice(array_agg(x), 1, 3) has the first 3",
}
_FOREIGN: dict[type[exp.Expr], tuple[str, str, str]] = {
    exp.AtTimeZone: ("AT TIME ZONE", "AT", "convert_timezone('Asia/Tokyo', ts) is what clocks there show at a time"),
    exp.Distinct: (
        "DISTINCT ON",
        "ON",
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY x) = 1 gives the first row of each key",
    ),
    exp.Into: ("SELECT INTO", "INTO", "CREATE QUERY name INTO sink AS SELECT ... writes into a sink"),
    exp.Lock: ("FOR UPDATE", "FOR", "a query locks no rows"),
    exp.Lateral: (
        "APPLY",
        "APPLY",
        "CROSS JOIN LATERAL (SELECT ...) AS u, and LEFT JOIN LATERAL (SELECT ...) AS u ON true",
    ),
    exp.Any: ("ANY of a subquery", "ANY", "x IN (SELECT y ...) is x = ANY, x > (SELECT MIN(y) ...) is x > ANY"),
    exp.All: (
        "ALL of a subquery",
        "ALL",
        "x NOT IN (SELECT y ...) is x <> ALL, x > (SELECT MAX(y) ...) is x > ALL where there are rows",
    ),
    exp.Comprehension: ("a list comprehension", "FOR", "transform(xs, x -> x * 2)"),
    exp.Slice: ("a slice in brackets", ":", "slice(xs, 1, 2) of a list, substring(x, 1, 2) of a text"),
    exp.In: ("IN UNNEST", "UNNEST", "array_contains(list, x) tells whether a list has x"),
}
"""How a clause is called, the word at which it stands, and what takes its place; see `_is_foreign`."""


def refuse_hints(text: Text) -> None:
    """Raise NotSupportedError for a hint that does not stand behind SELECT, which sqlglot takes for a comment."""
    if "/*+" not in text.sql:
        return
    ends = [0, *(token.end + 1 for token in text.tokens)]
    begins = [*(token.start for token in text.tokens), len(text.sql)]
    for end, begin in zip(ends, begins, strict=True):
        for comment in COMMENT.finditer(text.sql, end, begin):
            if comment[0].startswith("/*+"):
                hint = "SELECT /*+ BROADCAST(t) */ is; what a source is read with stands in its OPTIONS"
                place = Span(comment.start(), comment.end())
                raise NotSupportedError("a hint at this place is not supported", place, hint, text.sql)


def refuse_pipes(tokens: list[Token], sql: str) -> None:
    """Raise NotSupportedError for steps behind a SELECT: they begin with FROM."""
    if tokens[0].token_type != TokenType.SELECT:
        return
    depth = 0
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if token.token_type == TokenType.PIPE_GT and depth == 0:
            hint = "FROM orders |> WHERE price > 5 |> SELECT order_id"
            raise NotSupportedError("|> behind SELECT is not supported", Span(token.start, token.end + 1), hint, sql)


def _refuse_called_relations(tokens: list[Token], nodes: TreeNodes, sql: str) -> None:
    """Refuse Esper's conditions behind the name of a stream."""
    for table in nodes.of(exp.Table):
        conditions = table.this.find(*_CONDITIONS) if isinstance(table.this, exp.Anonymous) else None
        if conditions is not None:
            name = table.this.name
            at = next((token for token in tokens if token.text.lower() == name.lower()), tokens[0])
            hint = f"FROM {name} WHERE {conditions.sql('spark')}"
            place = Span(at.start, at.end + 1)
            raise NotSupportedError(f"a condition behind {name} is not supported", place, hint, sql)


def refuse_foreign(tokens: list[Token], nodes: TreeNodes, sql: str) -> None:
    """Raise NotSupportedError for what is left out, such as LIMIT n PERCENT, LIMIT n BY, GROUP BY WITH TOTALS, and
    ORDER BY, LIMIT and HAVING within an aggregate; and for what other engines read otherwise, such as
    AT TIME ZONE, -> and ->>."""
    refuse_foreign_expressions(tokens, sql)
    refuse_foreign_arguments(tokens, sql)
    _refuse_arrows(tokens, nodes, sql)
    _refuse_samples(tokens, sql)
    _refuse_clauses(tokens, sql)
    _refuse_called_relations(tokens, nodes, sql)
    _refuse_chains(tokens, nodes, sql)
    for unnest in nodes.of(exp.Unnest):
        _refuse_unnest(tokens, unnest, sql)
    # Of FROM_UTC_TIMESTAMP, which is Spark's, sqlglot makes the same.
    zoned = bool(nodes.of(exp.AtTimeZone)) and _has_words(tokens, ["AT", "TIME", "ZONE"])
    foreign = [
        node for node in nodes.of(*_FOREIGN) if _is_foreign(node) and (zoned or not isinstance(node, exp.AtTimeZone))
    ]
    for refused, (construct, word, hint) in _FOREIGN.items() if foreign else ():
        if any(isinstance(node, refused) for node in foreign):
            raise NotSupportedError(f"{construct} is not supported", _place(tokens, word), hint, sql)
    for word in ("REPLACE", "RENAME"):
        if any(star.args.get(word.lower()) for star in nodes.of(exp.Star)):
            hint = "SELECT * EXCEPT (x), y AS z leaves a column out, and adds one"
            raise NotSupportedError(f"* {word} is not supported", _place(tokens, word), hint, sql)
    for limit in nodes.of(exp.Limit, exp.Fetch):
        options = limit.args.get("limit_options")
        fetched = isinstance(limit, exp.Fetch)
        if options is not None and options.args.get("with_ties"):
            message = f"{'FETCH' if fetched else 'LIMIT'} ... WITH TIES is not supported"
            raise NotSupportedError(message, _place(tokens, "TIES"), _TIES_HINT, sql)
        if options is not None and (options.args.get("percent") or not fetched):
            message = f"{'FETCH ...' if fetched else 'LIMIT n'} PERCENT is not supported"
            hint = f"{'FETCH FIRST n ROWS ONLY' if fetched else 'LIMIT n'} takes the first rows"
            raise NotSupportedError(message, _place(tokens, "PERCENT"), hint, sql)
        if limit.expressions:
            hint = "QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY x) <= n gives the first rows of each key"
            raise NotSupportedError("LIMIT n BY is not supported", _place(tokens, "BY"), hint, sql)
    if any(group.args.get("totals") for group in nodes.of(exp.Group)):
        hint = "GROUP BY GROUPING SETS ((key), ()) gives a total beside the groups"
        raise NotSupportedError("GROUP BY ... WITH TOTALS is not supported", _place(tokens, "TOTALS"), hint, sql)
    if any(group.args.get("all") is False for group in nodes.of(exp.Group)):
        hint = "write each set of keys once: GROUP BY GROUPING SETS ((a, b), (a), ())"
        raise NotSupportedError("GROUP BY DISTINCT is not supported", _place(tokens, "DISTINCT"), hint, sql)
    for node in nodes.of(*_IN_AGGREGATES):
        call = node.find_ancestor(exp.Func, exp.Window, exp.WithinGroup, exp.Query)
        # In row patterns calls that sqlglot does not know have refusals of their own.
        if isinstance(call, exp.AggFunc) or (isinstance(call, exp.Anonymous) and call.find_ancestor(exp.Query)):
            kind, word = _IN_AGGREGATES[type(node)]
            begin = call.meta_get("start", 0)
            at = next((token for token in tokens if token.token_type == kind and token.start > begin), tokens[0])
            message = f"{word} within an aggregate is not supported"
            raise NotSupportedError(message, Span(at.start, at.end + 1), _HINTS.get(word), sql)


def _has_words(tokens: list[Token], phrase: list[str]) -> bool:
    words = [token.text.upper() for token in tokens]
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words)))


def _is_foreign(node: exp.Expr) -> bool:
    """Tell whether a node is what its class is refused for."""
    if isinstance(node, exp.Distinct):
        return node.args.get("on") is not None
    if isinstance(node, exp.Lateral):
        return node.args.get("cross_apply") is not None
    if isinstance(node, exp.Any | exp.All):
        return isinstance(node.this, exp.Query)
    return not isinstance(node, exp.In) or node.args.get("unnest") is not None


def _refuse_clauses(tokens: list[Token], sql: str) -> None:
    """Refuse what leaves nothing in the tree, or something else: a zone of a type, FORMAT in CAST, MAP {...}."""
    words = [token.text.upper() for token in tokens]
    for i, (token, following) in enumerate(zip(tokens, [*tokens[1:], None], strict=True)):
        before, word, kind = words[i - 1] if i else "", words[i], following and following.token_type
        construct, hint = None, ""
        if word in ("WITH", "WITHOUT") and words[i + 1 : i + 3] == ["TIME", "ZONE"]:
            construct, hint = (
                f"{word} TIME ZONE",
                "TIMESTAMP is shown in the zone of the session, TIMESTAMP_NTZ has none",
            )
        elif word == "FORMAT" and kind == TokenType.STRING and before not in ("", "(", ","):
            construct, hint = (
                "FORMAT in CAST",
                "to_date(text, 'yyyy-MM-dd'), to_timestamp and date_format take a format",
            )
        elif word == "MAP" and kind == TokenType.L_BRACE:
            construct, hint = "MAP {...}", "map('a', 1, 'b', 2)"
        if construct is not None:
            raise NotSupportedError(f"{construct} is not supported", Span(token.start, token.end + 1), hint, sql)


def _refuse_chains(tokens: list[Token], nodes: TreeNodes, sql: str) -> None:
    """Refuse calls behind calls, such as x.upper().left(2)."""
    for dot in nodes.of(exp.Dot):
        inner = dot.this.expression if isinstance(dot.this, exp.Dot) else dot.this
        if isinstance(dot.expression, exp.Func) and isinstance(inner, exp.Func):
            points = (token for token, before in zip(tokens[1:], tokens, strict=False) if before.text == ")")
            at = next((token for token in points if token.text == "."), tokens[0])
            hint = "a function stands before what it reads: left(upper(x), 2)"
            raise NotSupportedError("a call behind a call is not supported", Span(at.start, at.end + 1), hint, sql)


def _refuse_samples(tokens: list[Token], sql: str) -> None:
    """Refuse samples without a unit, such as TABLESAMPLE BERNOULLI (10): others mean percent, sqlglot rows."""
    for i, token in enumerate(tokens):
        words = [one.text.upper() for one in tokens[i:]] if token.token_type == TokenType.TABLE_SAMPLE else []
        if ")" in words:
            inside = words[: words.index(")")]
            if not {"PERCENT", "ROWS", "BUCKET"} & set(inside):
                hint = "TABLESAMPLE (10 PERCENT) takes about a tenth of the rows, TABLESAMPLE (10 ROWS) ten of them"
                message = "TABLESAMPLE without a unit is not supported"
                raise NotSupportedError(message, Span(token.start, token.end + 1), hint, sql)


def _refuse_unnest(tokens: list[Token], unnest: exp.Unnest, sql: str) -> None:
    """Refuse UNNEST with numbers, which begin at 1 there and at 0 here, and of what gives several columns."""
    if unnest.args.get("offset"):
        word = "ORDINALITY" if any(token.text.upper() == "ORDINALITY" for token in tokens) else "OFFSET"
        hint = "LATERAL posexplode(x) AS u(n, y) numbers the elements, from 0 on"
        raise NotSupportedError(f"UNNEST WITH {word} is not supported", _place(tokens, word), hint, sql)
    if len(unnest.expressions) != 1 or len(unnest.alias_column_names) > 1:
        hint = (
            "LATERAL explode(map) AS u(k, v), inline(array_of_structs) AS u(a, b) and inline(arrays_zip(x, y)) AS "
            "u(a, b) give several"
        )
        raise NotSupportedError("UNNEST with several columns is not supported", _place(tokens, "UNNEST"), hint, sql)


def _refuse_arrows(tokens: list[Token], nodes: TreeNodes, sql: str) -> None:
    """Refuse -> that makes no function: sqlglot would give text in JSON a meaning between those of other engines."""
    arrows = [token for token in tokens if token.token_type in (TokenType.ARROW, TokenType.DARROW)]
    for node in nodes.of(exp.JSONExtract, exp.JSONExtractScalar) if arrows else ():
        if node.args.get("variant_extract"):
            continue
        end = max((part.meta["end"] for part in node.this.walk() if part.meta_get("end") is not None), default=0)
        arrow = next((token for token in arrows if token.start > end), arrows[-1])
        hint = "a field of a struct is read with a point, s.field; get_json_object(text, '$.field') reads one of JSON"
        raise NotSupportedError(f"{arrow.text} is not supported", Span(arrow.start, arrow.end + 1), hint, sql)


def _place(tokens: list[Token], word: str) -> Span:
    at = next((token for token in tokens if token.text.upper() in (word, _OTHER_WORDS.get(word))), tokens[0])
    return Span(at.start, at.end + 1)
