"""What may be typed next: keywords from the grammar's state, names from the catalog and from the statement itself."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cepsql.analysis.source_options import COMMON_FILE_OPTIONS, COMMON_OPTIONS, FILE_FORMATS
from cepsql.catalog import ColumnDefinition, Relation
from cepsql.shell.clauses import begins_expression, fitting_words
from cepsql.shell.language import language

_WORD = re.compile(r"[^\W\d]\w*\Z|`[^`]*\Z")
_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|--[^\n]*(?=\n)|/\*.*?\*/""", re.DOTALL
)
_OPEN = re.compile(r"""['"]|--|/\*""")
_RELATION = re.compile(
    r"\b(?:FROM|JOIN)\s+([^\W\d]\w*(?:\.\w+)*|`[^`]+`)(?:\s+(?:AS\s+)?(?!MATCH_RECOGNIZE|WHERE|JOIN|ON|GROUP|ORDER|LIMIT"
    r"|LEFT|RIGHT|INNER|CROSS|FULL|UNION|HAVING|DEDUPLICATE|WINDOW)([^\W\d]\w*))?",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"\bPATTERN\s*\(([^;]*?)\)\s*(?:WITHIN|SUBSET|DEFINE|\)|\Z)", re.IGNORECASE | re.DOTALL)
_DEFINED = re.compile(r"\bDEFINE\b(.*)", re.IGNORECASE | re.DOTALL)
_SPOKEN = {"PARTITION_BY": "PARTITION BY", "ORDER_BY": "ORDER BY", "ONE": "ONE ROW PER MATCH",
           "AFTER": "AFTER MATCH SKIP", "MATCH_RECOGNIZE": "MATCH_RECOGNIZE ("}  # fmt: skip
_NO_KEYWORDS = {"SQL", "RELATION", "TABLE_ALIAS", "EXPRESSION", "ORDERED", "TYPE", "NAME", "PATTERN_TEXT", "VALUE",
                "OPTION_KEY", "LPAR", "RPAR", "COMMA", "DOT", "EQUAL", "SEMICOLON", "$END"}  # fmt: skip
_NAVIGATION = {
    "FIRST": "(x[, n]): in the first row of the match, or n rows after it",
    "LAST": "(x[, n]): in the last row, or n rows before it",
    "PREV": "(x[, n]): in the row before, or n before",
    "NEXT": "(x[, n]): in the row after, or n after",
    "CLASSIFIER": "(): the variable of the row",
    "MATCH_NUMBER": "(): the number of the match",
    "RUNNING": "so far",
    "FINAL": "at the end of the match",
}
_TYPES = ("STRING", "INT", "BIGINT", "DOUBLE", "DECIMAL(", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BINARY",
          "FLOAT", "SMALLINT", "TINYINT", "ARRAY<", "MAP<", "STRUCT<")  # fmt: skip
_OPTIONS = {
    format: (*COMMON_FILE_OPTIONS, *names) if format in FILE_FORMATS else names
    for format, names in COMMON_OPTIONS.items()
}


@dataclass(frozen=True)
class Suggestion:
    """A text that may be typed next, and what it is."""

    text: str
    meaning: str = ""


def suggest(
    before: str,
    after: str = "",
    relations: Iterable[Relation] = (),
    functions: Mapping[str, str] | None = None,
    settings: Iterable[str] = (),
) -> list[Suggestion]:
    """Return what may stand at the cursor and begins with the word before it, the likeliest first.

    before, after: the text on both sides of the cursor.
    relations:     those of the catalog.
    functions:     their signatures by name.
    settings:      names for SET.
    Inside texts in quotes and comments nothing is suggested.
    """
    if _OPEN.search(_QUOTED.sub(lambda found: " " * len(found[0]), before)):
        return []
    begin = max((found.end() for found in re.finditer(";", _QUOTED.sub(_blank, before))), default=0)
    before = before[begin:]
    after = after.split(";")[0]
    found = _WORD.search(before)
    word = found[0] if found else ""
    head = before[: len(before) - len(word)]
    known = {relation.name.lower(): relation for relation in relations}
    if head.rstrip().endswith(".") and not head.rstrip()[:-1].rstrip().endswith(")"):
        names = _members(head, head + word + after, known)
    else:
        names = _at(language().expected(head), head, head + word + after, known, functions or {}, settings)
    unique = {name.text.lower(): name for name in reversed(names) if _fits(name.text, word)}
    return [name for name in dict.fromkeys(names) if unique.get(name.text.lower()) is name]


def _blank(found: re.Match) -> str:
    return " " * len(found[0])


def _fits(name: str, word: str) -> bool:
    return name.lower().startswith(word.strip("`").lower()) and name.lower() != word.lower()


def _at(
    terminals: set[str],
    head: str,
    whole: str,
    known: Mapping[str, Relation],
    functions: Mapping[str, str],
    settings: Iterable[str],
) -> list[Suggestion]:
    keywords = [Suggestion(_SPOKEN.get(name, name)) for name in sorted(terminals - _NO_KEYWORDS)]
    last = re.findall(r"\w+", head.upper())[-1:]
    if "RELATION" in terminals:
        return [*_named(known.values()), *keywords]
    if "PATTERN_TEXT" in terminals:
        return [Suggestion(name, "pattern variable") for name in _variables(whole)] + [Suggestion("PERMUTE(")]
    if "TYPE" in terminals:
        return [Suggestion(kind, "type") for kind in _TYPES]
    if "OPTION_KEY" in terminals:
        if last == ["SET"] or last == ["RESET"]:
            return [Suggestion(name, "setting") for name in settings]
        given = re.findall(r"\bUSING\s+(\w+)", head, re.IGNORECASE)
        return [Suggestion(name, "option") for name in _OPTIONS.get(given[-1].lower() if given else "", ())]
    if "EXPRESSION" in terminals or "ORDERED" in terminals:
        return _expression(head, whole, known, functions)
    if "NAME" in terminals:
        if last == ["USING"]:
            return [Suggestion(name, "format") for name in _OPTIONS]
        if last == ["DEFINE"] or re.search(r"\b(SKIP\s+TO|SUBSET)\b.*\Z", head, re.IGNORECASE | re.DOTALL):
            return [*keywords, *(Suggestion(name, "pattern variable") for name in _variables(whole))]
        return [*keywords, *_named(known.values())]
    if "SQL" in terminals:
        if last == ["AS"] and "$END" in terminals:
            return []
        if not head.strip() or "$END" not in terminals:
            return [*keywords, *map(Suggestion, ("SELECT", "WITH", "VALUES"))]
        words = list(map(Suggestion, fitting_words(head)))
        if not begins_expression(head):
            return [*words, *(keyword for keyword in keywords if keyword.text not in ("FROM", "JOIN") or words)]
        columns = _columns(whole, known) or [_column(column) for name in known.values() for column in name.columns]
        return [
            *columns,
            *words,
            *(Suggestion(f"{name}(", signature) for name, signature in functions.items()),
        ]
    return keywords


def _named(relations: Iterable[Relation]) -> list[Suggestion]:
    return [Suggestion(relation.name, "stream" if relation.streaming else "table or view") for relation in relations]


def _expression(head: str, whole: str, known: Mapping[str, Relation], functions: Mapping[str, str]) -> list[Suggestion]:
    """Return what an expression in a MATCH_RECOGNIZE may begin with, or one of a definition."""
    found = _columns(whole, known)
    if re.search(r"\b(MEASURES|DEFINE)\b", head, re.IGNORECASE):
        found = [Suggestion(f"{name}.", "pattern variable") for name in _variables(whole)] + found
        found += [Suggestion(name, meaning) for name, meaning in _NAVIGATION.items()]
    if defined := re.findall(r"\bCREATE\b[^(]*\((.*)", head, re.IGNORECASE | re.DOTALL):
        names = re.findall(r"(?:^|,)\s*(?!WATERMARK\b)(\w+)\s+\w+", defined[-1], re.IGNORECASE)
        found = [Suggestion(name, "column") for name in names] + found
    return [*found, *(Suggestion(f"{name}(", signature) for name, signature in functions.items())]


def _columns(whole: str, known: Mapping[str, Relation]) -> list[Suggestion]:
    """Return the columns of the relations in FROM, with their types."""
    found = []
    for name, _ in _RELATION.findall(whole):
        relation = known.get(name.strip("`").lower())
        found += [] if relation is None else [_column(column) for column in relation.columns]
    return found


def _column(column: ColumnDefinition) -> Suggestion:
    return Suggestion(column.name, column.type.lower())


def _members(head: str, whole: str, known: Mapping[str, Relation]) -> list[Suggestion]:
    """Return the columns of what stands before a point: a relation, its alias, or a pattern variable."""
    owner = re.findall(r"(\w+|`[^`]+`)\s*\.\s*\Z", head)
    if not owner:
        return []
    name = owner[0].strip("`").lower()
    for relation, alias in _RELATION.findall(whole):
        if name in (alias.lower(), relation.strip("`").lower()) and relation.strip("`").lower() in known:
            return [_column(column) for column in known[relation.strip("`").lower()].columns]
    return _columns(whole, known) if name in map(str.lower, _variables(whole)) else []


def _variables(whole: str) -> list[str]:
    """Return the pattern variables that a statement names in PATTERN and DEFINE."""
    text = _QUOTED.sub(_blank, whole)
    named = re.findall(r"[^\W\d]\w*", " ".join(_PATTERN.findall(text)))
    defined = re.findall(r"([^\W\d]\w*)\s+AS\b", " ".join(_DEFINED.findall(text)), re.IGNORECASE)
    return [name for name in dict.fromkeys([*named, *defined]) if name.upper() != "PERMUTE"]
