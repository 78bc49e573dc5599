"""Parts of a VARIANT by path, `v:a.b[0]`, which sqlglot reads in other dialects than Spark's only.

Colon and path become an operator that sqlglot reads and Spark lacks, with a text; the operation becomes the expression
that sqlglot has for such a path.
"""

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType

from cepsql.language.tokens import made_token

_MARK = "__VARIANT_"
_BEFORE_PARAMETER = {TokenType.LIMIT, TokenType.OFFSET, TokenType.INTERVAL, TokenType.ESCAPE}
_AFTER = {*Spark.Parser.ID_VAR_TOKENS, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET} - _BEFORE_PARAMETER
_ANGLES = {"<": 1, ">": -1}


def fold_paths(tokens: list[Token]) -> tuple[list[Token], list[exp.JSONPath]]:
    """Make each colon with the path after it an operator and a text; return the paths as well.

    A colon after a value begins a path if it adjoins the value or if both sides have space; what adjoins the word after
    it only is a parameter. In types, as in STRUCT<a: INT>, it begins none.
    """
    folded: list[Token] = []
    paths: list[exp.JSONPath] = []
    if all(token.token_type != TokenType.COLON for token in tokens):
        return tokens, paths
    i = depth = 0
    while i < len(tokens):
        token = tokens[i]
        if depth or (i and tokens[i - 1].token_type == TokenType.STRUCT):
            depth += sum(_ANGLES.get(sign, 0) for sign in token.text) if set(token.text) <= set(_ANGLES) else 0
        steps, end = _path(tokens, i) if not depth and _begins_path(tokens, i) else ([], i)
        if steps:
            folded.append(made_token(TokenType.HASH_ARROW, ":", token))
            folded.append(made_token(TokenType.STRING, f"{_MARK}{len(paths)}", tokens[i + 1], tokens[end - 1]))
            paths.append(exp.JSONPath(expressions=[exp.JSONPathRoot(), *steps]))
            i = end
        else:
            folded.append(token)
            i += 1
    return folded, paths


def unfold_paths(tree: exp.Expr, paths: list[exp.JSONPath]) -> exp.Expr:
    """Give the operations that stand for paths their paths."""
    for node in [*tree.find_all(exp.JSONBExtract)] if paths else ():
        if node.expression.name.startswith(_MARK):
            path = paths[int(node.expression.name.removeprefix(_MARK))]
            part = exp.JSONExtract(this=node.this, expression=path, variant_extract=True, requires_json=False)
            part.comments = node.comments
            tree = part if node is tree else tree
            node.replace(part)
    return tree


def _begins_path(tokens: list[Token], i: int) -> bool:
    if tokens[i].token_type != TokenType.COLON or not 0 < i < len(tokens) - 1:
        return False
    before, after = tokens[i - 1], tokens[i + 1]
    adjoins = before.end + 1 == tokens[i].start
    return before.token_type in _AFTER and (adjoins or tokens[i].end + 1 != after.start)


def _path(tokens: list[Token], i: int) -> tuple[list[exp.JSONPathPart], int]:
    """Return the steps of the path that the colon at i begins, and the index of the token after it."""
    steps: list[exp.JSONPathPart] = []
    if tokens[i + 1].token_type == TokenType.L_BRACKET:
        i += 1
    while i + 1 < len(tokens):
        kind = tokens[i].token_type
        if kind == TokenType.L_BRACKET:
            step, end = _subscript(tokens, i)
        elif kind in (TokenType.COLON, TokenType.DOT):
            step, end = _key(tokens[i + 1]), i + 2
        else:
            break
        if step is None:
            break
        steps.append(step)
        i = end
    return steps, i


def _key(token: Token) -> exp.JSONPathPart | None:
    quoted = token.token_type == TokenType.IDENTIFIER
    named = quoted or token.token_type == TokenType.STRING or token.text.replace("_", "a").isalnum()
    return exp.JSONPathKey(this=token.text, quoted=quoted) if named else None


def _subscript(tokens: list[Token], i: int) -> tuple[exp.JSONPathPart | None, int]:
    """Return what stands in the bracket at i, None if it is no constant, and the index after the bracket."""
    negative = tokens[i + 1].token_type == TokenType.DASH
    at = i + 1 + negative
    if at + 1 >= len(tokens) or tokens[at + 1].token_type != TokenType.R_BRACKET:
        return None, i
    token = tokens[at]
    if token.token_type == TokenType.NUMBER and token.text.isdigit():
        return exp.JSONPathSubscript(this=-int(token.text) if negative else int(token.text)), at + 2
    if token.token_type == TokenType.STRING and not negative:
        return exp.JSONPathKey(this=token.text, quoted=True), at + 2
    if token.token_type == TokenType.STAR and not negative:
        return exp.JSONPathSubscript(this=exp.JSONPathWildcard()), at + 2
    return None, i
