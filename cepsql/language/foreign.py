"""What sqlglot reads in a statement, and Spark's SQL does not have: written anew, it would be left out."""

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, Span

_IN_AGGREGATES: dict[type[exp.Expr], tuple[TokenType, str]] = {
    exp.Order: (TokenType.ORDER_BY, "ORDER BY"),
    exp.Limit: (TokenType.LIMIT, "LIMIT"),
    exp.HavingMax: (TokenType.HAVING, "HAVING"),
}
_HINTS = {
    "ORDER BY": "LISTAGG and percentiles take WITHIN GROUP (ORDER BY ...); array_sort(array_agg(x)) sorts a list",
    "HAVING": "max_by(x, y) is x where y is greatest",
}


def spread_symmetric(tree: exp.Expr) -> exp.Expr:
    """Return the tree with BETWEEN SYMMETRIC as two BETWEENs, either of which may hold."""
    # Inner ones first, for an outer one is written twice.
    for node in reversed(list(tree.find_all(exp.Between))):
        if node.args.get("symmetric"):
            spread = _spread(node)
            node.replace(spread)
            tree = spread if node is tree else tree
    return tree


def limit_fetched(tokens: list[Token], tree: exp.Expr, sql: str) -> None:
    """Turn FETCH FIRST n ROWS ONLY into LIMIT n. Raise NotSupportedError for its other forms."""
    for fetch in list(tree.find_all(exp.Fetch)):
        options = fetch.args.get("limit_options")
        if options is not None and options.args.get("with_ties"):
            hint = "QUALIFY RANK() OVER (ORDER BY x) <= n gives rows that are equal to the last one, too"
            raise NotSupportedError("FETCH ... WITH TIES is not supported", _place(tokens, "TIES"), hint, sql)
        if options is not None and options.args.get("percent"):
            hint = "FETCH FIRST n ROWS ONLY takes the first rows"
            raise NotSupportedError("FETCH ... PERCENT is not supported", _place(tokens, "PERCENT"), hint, sql)
        fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def refuse_foreign(tokens: list[Token], tree: exp.Expr, sql: str) -> None:
    """Raise NotSupportedError for what is left out: LIMIT n PERCENT, LIMIT n BY, GROUP BY WITH TOTALS, EXCLUDE in a
    frame, and ORDER BY, LIMIT and HAVING within an aggregate; and for -> and ->> of other engines."""
    _refuse_arrows(tokens, tree, sql)
    if any(spec.args.get("exclude") is not None for spec in tree.find_all(exp.WindowSpec)):
        raise NotSupportedError("EXCLUDE in a frame is not supported", _place(tokens, "EXCLUDE"), None, sql)
    for limit in tree.find_all(exp.Limit):
        if limit.args.get("limit_options") is not None:
            hint = "LIMIT n takes the first rows"
            raise NotSupportedError("LIMIT n PERCENT is not supported", _place(tokens, "PERCENT"), hint, sql)
        if limit.expressions:
            hint = "QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY x) <= n gives the first rows of each key"
            raise NotSupportedError("LIMIT n BY is not supported", _place(tokens, "BY"), hint, sql)
    if any(group.args.get("totals") for group in tree.find_all(exp.Group)):
        hint = "GROUP BY GROUPING SETS ((key), ()) gives a total beside the groups"
        raise NotSupportedError("GROUP BY ... WITH TOTALS is not supported", _place(tokens, "TOTALS"), hint, sql)
    for node in tree.find_all(*_IN_AGGREGATES):
        call = node.find_ancestor(exp.Func, exp.Window, exp.WithinGroup, exp.Query)
        if isinstance(call, exp.AggFunc):
            kind, word = _IN_AGGREGATES[type(node)]
            begin = call.meta.get("start", 0)
            at = next((token for token in tokens if token.token_type == kind and token.start > begin), tokens[0])
            message = f"{word} within an aggregate is not supported"
            raise NotSupportedError(message, Span(at.start, at.end + 1), _HINTS.get(word), sql)


def _refuse_arrows(tokens: list[Token], tree: exp.Expr, sql: str) -> None:
    """Refuse -> that makes no function: sqlglot would give text in JSON a meaning between those of other engines."""
    arrows = [token for token in tokens if token.token_type in (TokenType.ARROW, TokenType.DARROW)]
    for node in tree.find_all(exp.JSONExtract, exp.JSONExtractScalar) if arrows else ():
        if node.args.get("variant_extract"):
            continue
        end = max((part.meta["end"] for part in node.this.walk() if "end" in part.meta), default=0)
        arrow = next((token for token in arrows if token.start > end), arrows[-1])
        hint = "a field of a struct is read with a point, s.field; get_json_object(text, '$.field') reads one of JSON"
        raise NotSupportedError(f"{arrow.text} is not supported", Span(arrow.start, arrow.end + 1), hint, sql)


def _place(tokens: list[Token], word: str) -> Span:
    at = next((token for token in tokens if token.text.upper() == word), tokens[0])
    return Span(at.start, at.end + 1)


def _spread(node: exp.Between) -> exp.Paren:
    low, high = node.args["low"], node.args["high"]
    one = exp.Between(this=node.this, low=low, high=high)
    other = exp.Between(this=node.this.copy(), low=high.copy(), high=low.copy())
    return exp.paren(exp.or_(one, other, wrap=False), copy=False)
