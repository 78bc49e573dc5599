"""Windows with a row pattern: OVER (... PATTERN ...) and WINDOW name AS (... PATTERN ...), as they are written."""

from dataclasses import replace

from sqlglot.tokens import Token, TokenType

from cepsql.errors import Error, NotSupportedError
from cepsql.language.statements import FrameAhead, MatchClause, Name
from cepsql.language.tokens import Text, made_token, unquoted
from cepsql.pattern.ir import Concat, Repeat, Variable

MEASURE = "__MEASURE"
"""The call that stands for the name of a measure before OVER; its argument is that name."""

SKIPPED, SOUGHT = "__SKIPPED", "__SOUGHT"
"""With SEEK, the variable of rows before the match, and the union of all others."""

_KINDS = ("ROWS", "RANGE", "GROUPS")
_FRAME_STARTS = ("BETWEEN", "CURRENT", "CURRENT ROW", "UNBOUNDED", "INTERVAL")
_NO_SPEC = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
_ENDS = ("", ")", ",", ".", "ASC", "DESC", "NULLS", *_KINDS)
_BEFORE = (
    "(", ",", "ORDER BY", "PARTITION BY", "AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "+", "-", "*", "/", "%", ".",
)  # fmt: skip
"""Behind what a word in a bracket is part of an expression."""
_WRITTEN = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"


def begins_pattern_window(text: Text, i: int) -> bool:
    """Tell whether a bracket behind OVER, or WINDOW name AS, has a row pattern, or another clause of one, in it."""
    if text.raw(i) != "(" or text.word(i - 1) not in ("OVER", "AS"):
        return False
    if (text.word(i + 1) or text.raw(i + 1)) in _NO_SPEC:
        return False
    at, end = i + 1, text.closing[i]
    while at < end:
        if _begins_part(text, at):
            return _is_window(text, i)
        at = text.closing.get(at, at) + 1
    return False


def begins_frame(text: Text, i: int) -> bool:
    """Tell whether a frame begins here: ROWS BETWEEN ..."""
    if text.word(i) not in _KINDS:
        return False
    return text.word(i + 1) in _FRAME_STARTS or text.raw(i + 1)[:1].isdigit()


def pattern_window_names(text: Text) -> frozenset[str]:
    """Return the names, in lower case, of all windows of a text that have a row pattern, or go on from one that has."""
    defined = [i for i in range(len(text)) if text.raw(i) == "(" and text.word(i - 1) == "AS" and _is_window(text, i)]
    names = {unquoted(text.raw(i - 2)).lower() for i in defined if begins_pattern_window(text, i)}
    for _ in defined if names else ():
        names |= {unquoted(text.raw(i - 2)).lower() for i in defined if unquoted(text.raw(i + 1)).lower() in names}
    return frozenset(names)


def with_measures(text: Text, begin: int, end: int, names: frozenset[str]) -> list[Token]:
    """Return the tokens of plain SQL with a call for each measure before OVER, as in `low OVER w`.

    names: of the windows with a row pattern.
    """
    tokens: list[Token] = []
    for i in range(begin, end):
        at = text.tokens[i]
        if not _is_measure(text, i, names):
            tokens.append(at)
            continue
        name = made_token(TokenType.STRING, unquoted(text.raw(i)), at)
        brackets = made_token(TokenType.L_PAREN, "(", at), made_token(TokenType.R_PAREN, ")", at)
        tokens += [made_token(TokenType.VAR, MEASURE, at), brackets[0], name, brackets[1]]
    return tokens


def pattern_frame(text: Text, begin: int, end: int) -> FrameAhead:
    """Read the frame of a window with a row pattern.

    Raises ProgrammingError and NotSupportedError for frames that a row pattern cannot have.
    """
    words = text.slice(begin, end).upper().split()
    kind, rest = words[0], words[1:]
    if kind != "ROWS":
        raise _wrong(text, f"a row pattern in a window takes a frame of ROWS, not of {kind}", begin, begin + 1)
    if "EXCLUDE" in rest:
        at = next(i for i in range(begin, end) if text.word(i).startswith("EXCLUDE"))
        raise _wrong(text, "EXCLUDE may not stand beside a row pattern in a window", at, end)
    if rest[:4] != ["BETWEEN", "CURRENT", "ROW", "AND"]:
        raise _wrong(text, "the frame of a row pattern begins with the current row", begin, end)
    match rest[4:]:
        case ["UNBOUNDED", "FOLLOWING"]:
            return FrameAhead(None)
        case ["CURRENT", "ROW"]:
            return FrameAhead(0)
        case [number, "FOLLOWING"] if number.isdecimal():
            return FrameAhead(int(number))
    raise _wrong(text, "the frame of a row pattern ends a constant number of rows after the current one", begin, end)


def missing_frame(text: Text, at: int) -> Error:
    """Make the error for a window with a row pattern, whose word PATTERN is token `at`, but without a frame."""
    return text.error("a row pattern in a window needs its frame", at, hint=f"before PATTERN: {_WRITTEN}")


def sought(text: Text, at: int, clause: MatchClause) -> MatchClause:
    """Return a row pattern that begins with as few rows as it can, which are no part of the match: SEEK, at token `at`.

    Raises NotSupportedError beside WITHIN, which would count from the row.
    """
    place = text.span(at, at + 1)
    if clause.within is not None:
        hint = "let the frame end some rows after the current one: AND 10 FOLLOWING"
        raise NotSupportedError("SEEK beside WITHIN is not supported", place, hint, text.sql)
    if not clause.pattern_names:
        return clause
    rows = tuple(Name(name, span) for name, span in clause.pattern_names.items())
    return replace(
        clause,
        pattern=Concat((Repeat(Variable(SKIPPED), 0, None, greedy=False), clause.pattern)),
        pattern_names={SKIPPED: place, **clause.pattern_names},
        subsets=(*clause.subsets, (Name(SOUGHT, place), rows)),
    )


def _wrong(text: Text, message: str, begin: int, end: int) -> Error:
    return text.error(message, begin, end, f"it is written {_WRITTEN}, or 10 FOLLOWING")


def _is_window(text: Text, i: int) -> bool:
    """Tell whether a bracket stands where the definition of a window does."""
    if text.word(i - 1) == "OVER":
        return True
    named = text.word(i - 1) == "AS" and i > 2
    if named and text.raw(i - 3) == ",":
        return any(text.word(j) == "WINDOW" for j in range(i - 3))
    return named and text.word(i - 3) == "WINDOW"


def _begins_part(text: Text, i: int) -> bool:
    """Tell whether a part of a row pattern begins at a token that stands directly in the bracket of a window."""
    word, following = text.word(i), text.word(i + 1) or text.raw(i + 1)
    if word not in ("PATTERN", "MEASURES", "AFTER", "SUBSET", "DEFINE"):
        return False
    first = text.raw(i - 1) == "(" and (text.word(i - 2) == "OVER" or text.word(i - 2) == "AS")
    if not first and (text.word(i - 1) or text.raw(i - 1)) in _BEFORE:
        return False
    match word:
        case "PATTERN":
            return following == "("
        case "AFTER":
            return following == "MATCH"
        case "SUBSET":
            return text.raw(i + 2) == "="
        case "DEFINE":
            return text.word(i + 2) == "AS"
    return following not in _ENDS


def _is_measure(text: Text, i: int, names: frozenset[str]) -> bool:
    """Tell whether a token is the name of a measure before OVER and a window with a row pattern."""
    named = bool(text.word(i)) or text.raw(i)[:1] == "`"
    if not named or text.word(i + 1) != "OVER" or text.word(i).split()[-1:] == ["NULLS"] or text.raw(i - 1) == ".":
        return False
    return unquoted(text.raw(i + 2)).lower() in names or _opens(text, i + 2, names)


def _opens(text: Text, i: int, names: frozenset[str]) -> bool:
    """Tell whether a bracket behind OVER has a row pattern, or names a window that has one."""
    return begins_pattern_window(text, i) or (text.raw(i) == "(" and unquoted(text.raw(i + 1)).lower() in names)
