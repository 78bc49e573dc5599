"""WINDOW TUMBLING (...) after a relation, and TABLE(TUMBLE(...)) in place of one."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from lark import Token, Tree
from sqlglot import exp
from sqlglot.tokens import Token as SqlToken
from sqlglot.tokens import TokenType

from cepsql.errors import Span
from cepsql.language.islands import parse_island
from cepsql.language.statements import FillClause, FillItem, Name, WindowClause
from cepsql.language.tokens import Text, made_token, unquoted

_LENGTHS = {
    "tumbling": ("SIZE",),
    "hopping": ("SIZE", "ADVANCE BY"),
    "cumulating": ("SIZE", "STEP"),
    "session": ("GAP",),
}
_KINDS = {"TUMBLE": "tumbling", "HOP": "hopping", "CUMULATE": "cumulating", "SESSION": "session"}
_ORDER = {"TUMBLE": ("SIZE",), "HOP": ("SLIDE", "SIZE"), "CUMULATE": ("STEP", "SIZE"), "SESSION": ("GAP",)}
_DATA, _TIME, _OFFSET = "DATA", "TIMECOL", "OFFSET"
_EXAMPLES = {
    "tumbling": "TUMBLING (SIZE 1 MINUTE)",
    "hopping": "HOPPING (SIZE 5 MINUTES, ADVANCE BY 1 MINUTE)",
    "cumulating": "CUMULATING (SIZE 1 HOUR, STEP 5 MINUTES)",
    "session": "SESSION (GAP 30 MINUTES)",
}

_OTHERS = {
    "GRACE": "WATERMARK FOR says how late rows may come, EMIT ... ALLOWED LATENESS how long windows are kept for them",
    "RETENTION": "what a window needs is kept until the watermark has passed its end",
}
"""Words of ksqlDB, and what takes their place."""


def written_windows(text: Text, tree: Tree, name: str, source: exp.Query) -> WindowClause:
    """Read a WINDOW clause over `source`.

    Raises ProgrammingError, with position and hint, for lengths that are missing, or of another kind of window.
    """
    kind = str(tree.children[1]).lower()
    span = text.span(_begin(tree.children[0]), _begin(tree.children[0]) + 2)
    time: exp.Column | None = None
    lengths: dict[str, exp.Expr] = {}
    for part in (child for child in tree.children if isinstance(child, Tree)):
        island = part.children[-1]
        if part.data == "window_time":
            time = _column(text, _slice(text, island))
        elif part.data == "window_length":
            words = " ".join(str(word).upper() for word in part.children[:-1])
            if not words:
                _refuse_other(text, _begin(island), (*_LENGTHS[kind], _OFFSET))
            _add_length(text, lengths, words or _LENGTHS[kind][0], _slice(text, island), (*_LENGTHS[kind], _OFFSET))
    missing = next((word for word in _LENGTHS[kind] if word not in lengths), None)
    if missing is not None:
        raise text.error(
            f"{missing} is missing in WINDOW {kind.upper()}",
            _begin(tree.children[0]),
            _begin(tree.children[0]) + 2,
            f"it is written WINDOW {_EXAMPLES[kind]}",
        )
    keys = next((child for child in tree.children if isinstance(child, Tree) and child.data == "partition_by"), None)
    partition = None
    if keys is not None:
        if kind != "session":
            raise text.error("only sessions are partitioned", _begin(keys.children[0]), hint="GROUP BY the key")
        islands = [child for child in keys.children if isinstance(child, Token) and child.type == "EXPRESSION"]
        partition = tuple(parse_island(text, _slice(text, island), exp.Condition) for island in islands)
    first, *further = _LENGTHS[kind]
    step = lengths[further[0]] if further else None
    fill = _fill(text, tree)
    if fill is not None and kind in ("cumulating", "session"):
        raise text.error(
            f"FILL after {kind.upper()} is not possible: its windows do not follow one another in equal steps",
            _begin(tree.children[0]),
            _begin(tree.children[0]) + 2,
            "TUMBLING (...) and HOPPING (...) take FILL",
        )
    offset = lengths.get(_OFFSET)
    return WindowClause(name, source, kind, time, lengths[first], step, offset, partition, False, span, fill)


def _fill(text: Text, tree: Tree) -> FillClause | None:
    """Read FILL (...), None if there is none."""
    clause = next((child for child in tree.children if isinstance(child, Tree) and child.data == "fill"), None)
    if clause is None:
        return None
    items = []
    for item in (child for child in clause.children if isinstance(child, Tree)):
        parts = {part.type: part for part in item.children if isinstance(part, Token)}
        name = None
        if "NAME" in parts:
            at = _begin(parts["NAME"])
            name = Name(text.tokens[at].text, text.span(at, at + 1))
        items.append(FillItem(parse_island(text, _slice(text, parts["EXPRESSION"]), exp.Condition), name))
    limits = [child for child in clause.children if isinstance(child, Token) and child.type == "EXPRESSION"]
    limit = _interval(text, _slice(text, limits[0])) if limits else None
    begin = _begin(clause.children[0])
    return FillClause(tuple(items), limit, text.span(begin, text.closing[begin + 1] + 1))


def alias_tokens(source: exp.Query, at: SqlToken) -> list[SqlToken]:
    """Return the tokens of the name that the relation of `SELECT * FROM relation` goes by, none if it has no name."""
    relation = source.args["from_"].this
    alias = relation.args.get("alias")
    name = alias.this if alias is not None else relation.this if isinstance(relation, exp.Table) else None
    if not isinstance(name, exp.Identifier):
        return []
    return [made_token(TokenType.IDENTIFIER if name.quoted else TokenType.VAR, name.name, at)]


@dataclass(frozen=True)
class WindowCall:
    """The arguments of TUMBLE, HOP, CUMULATE or SESSION, by name.

    relation: the tokens of the relation, by their places in the text.
    """

    function: str
    relation: range
    partition_by: tuple[list[SqlToken], ...]
    arguments: dict[str, list[SqlToken]]
    span: Span = field(compare=False)


def named_arguments(text: Text, tree: Tree) -> WindowCall:
    """Tell the arguments of TABLE(TUMBLE(...)) apart.

    Raises ProgrammingError, with position and hint, for arguments that are missing or unknown.
    """
    at = next(_begin(c) for c in tree.children if isinstance(c, Token) and c.type == "NAME")
    function = text.word(at)
    order = [_DATA, _TIME, *_ORDER[function], *([_OFFSET] if function != "SESSION" else [])]
    parts: dict[str, range] = {}
    keys: list[list[SqlToken]] = []
    for argument in _parts(text, at + 2, text.closing[at + 1]):
        begin, end = argument.start, argument.stop
        named = text.raw(begin + 1) == "=>"
        if named:
            name, begin = text.word(begin) or unquoted(text.raw(begin)).upper(), begin + 2
        elif text.word(begin) == "TABLE":
            name = _DATA
        elif text.word(begin) == "DESCRIPTOR":
            name = _TIME
        elif _DATA in parts and _TIME not in parts:
            keys.append(text.tokens[begin:end])
            continue
        else:
            name = next((name for name in order if name not in parts), "")
        if name not in order or name in parts or begin >= end:
            raise text.error(f"unexpected argument of {function}", argument.start, end, _form(function))
        if name == _DATA:
            at_keys = next((i for i in _level(text, begin, end) if text.word(i) == "PARTITION BY"), end)
            keys += _split(text, at_keys + 1, end)
            begin, end = begin + (text.word(begin) == "TABLE"), at_keys
        elif name == _TIME:
            if text.word(begin) != "DESCRIPTOR" or text.raw(begin + 1) != "(":
                raise text.error("DESCRIPTOR(column) is needed here", begin, end, _form(function))
            begin, end = begin + 2, text.closing[begin + 1]
        parts[name] = range(begin, end)
    missing = next((name for name in (_DATA, _TIME, *_ORDER[function]) if not parts.get(name)), None)
    if missing is not None:
        raise text.error(f"{missing} is missing in {function}", at, hint=_form(function))
    if keys and function != "SESSION":
        raise text.error("only sessions are partitioned", at, hint="GROUP BY the key")
    arguments = {name: text.tokens[part.start : part.stop] for name, part in parts.items() if name != _DATA}
    return WindowCall(function, parts[_DATA], tuple(keys), arguments, text.span(_begin(tree.children[0]), at + 1))


def called_windows(text: Text, call: WindowCall, name: str, source: exp.Query) -> WindowClause:
    """Return the clause that a call is; raises ProgrammingError for arguments that are no column or no length."""
    kind = _KINDS[call.function]
    lengths = {word: _interval(text, tokens) for word, tokens in call.arguments.items() if word != _TIME}
    *steps, size = (lengths[word] for word in _ORDER[call.function])
    keys = tuple(parse_island(text, key, exp.Condition) for key in call.partition_by)
    partition = keys if kind == "session" else None
    time = _column(text, call.arguments[_TIME])
    step = steps[0] if steps else None
    return WindowClause(name, source, kind, time, size, step, lengths.get(_OFFSET), partition, True, call.span)


def _form(function: str) -> str:
    lengths = ", ".join(f"INTERVAL ... /* {word.lower()} */" for word in _ORDER[function])
    keys = " [PARTITION BY ...]" if function == "SESSION" else ""
    return f"TABLE({function}(TABLE relation{keys}, DESCRIPTOR(time), {lengths}))"


def _split(text: Text, begin: int, end: int) -> list[list[SqlToken]]:
    """Return the keys of PARTITION BY, which may stand in brackets."""
    if begin >= end:
        return []
    if text.raw(begin) == "(" and text.closing[begin] == end - 1:
        begin, end = begin + 1, end - 1
    return [text.tokens[part.start : part.stop] for part in _parts(text, begin, end)]


def _parts(text: Text, begin: int, end: int) -> list[range]:
    """Return what commas separate that stand in no further bracket."""
    commas = [i for i in _level(text, begin, end) if text.raw(i) == ","]
    return [range(i + 1, j) for i, j in pairwise([begin - 1, *commas, end])]


def _level(text: Text, begin: int, end: int) -> Iterator[int]:
    """Yield the tokens from `begin` to `end` that stand in no further bracket, and the brackets that open there."""
    i = begin
    while i < end:
        yield i
        i = text.closing.get(i, i) + 1


def _add_length(
    text: Text, lengths: dict[str, exp.Expr], word: str, tokens: list[SqlToken], words: tuple[str, ...]
) -> None:
    place = _index(text, tokens[0])
    if word not in words:
        raise text.error(
            f"this kind of window has no {word}",
            place - len(word.split()),
            place,
            "this kind takes " + ", ".join(words),
        )
    if word in lengths:
        raise text.error(f"{word} stands here for the second time", place - len(word.split()), place)
    lengths[word] = _interval(text, tokens)


def _refuse_other(text: Text, at: int, words: tuple[str, ...]) -> None:
    """Raise ProgrammingError for what other engines let stand among the lengths of windows."""
    if text.word(at) in _OTHERS:
        hint = f"a window takes {', '.join(words)}; {_OTHERS[text.word(at)]}"
        raise text.error(f"windows have no {text.word(at)}", at, hint=hint)
    if near := difflib.get_close_matches(text.word(at), [word.split()[0] for word in words], 1, 0.75):
        raise text.error(f"syntax error: unexpected {text.raw(at)}", at, hint=f"did you mean {near[0]}?")


def _interval(text: Text, tokens: list[SqlToken]) -> exp.Expr:
    """Read a length: INTERVAL '5' MINUTES, 5 MINUTES or '5 minutes'."""
    first = tokens[0]
    place = Span(first.start, tokens[-1].end + 1)
    begin = _index(text, first)
    if text.word(begin) != "INTERVAL":
        tokens = [made_token(TokenType.INTERVAL, "INTERVAL", first), *tokens]
    length = parse_island(text, tokens, exp.Condition)
    if not isinstance(length, exp.Interval | exp.Neg | exp.Add):
        raise text.error("a length is needed here", begin, begin + len(tokens), "for example 5 MINUTES")
    length.meta.update(start=place.start, end=place.end - 1)
    return length


def _column(text: Text, tokens: list[SqlToken]) -> exp.Column:
    column = parse_island(text, tokens, exp.Condition)
    if not isinstance(column, exp.Column):
        begin = _index(text, tokens[0])
        raise text.error("the event time is the name of a column", begin, begin + len(tokens))
    return column


def _slice(text: Text, island: Token | Tree) -> list[SqlToken]:
    assert isinstance(island, Token)
    return text.tokens[_begin(island) : island.end_pos]


def _begin(token: Token | Tree) -> int:
    assert isinstance(token, Token) and token.start_pos is not None
    return token.start_pos


def _index(text: Text, token: SqlToken) -> int:
    """Return the place of a token among those of the text."""
    return next(i for i, other in enumerate(text.tokens) if other.start == token.start)
