"""Completion of SQL: keywords from the state of the grammar, names from the catalog and from the statement itself."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cepsql.catalog import ColumnDefinition, Relation, View
from cepsql.frontends.shell.clause_hints import COMPARISONS, begins_expression, continuation, fitting_words
from cepsql.frontends.shell.language_import import language
from cepsql.frontends.shell.suggested_options import FORMATS_OF_RECORDS, formats, option_names

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
_LISTED = re.compile(r",\s*([^\W\d]\w*|`[^`]+`)(?:\s+(?:AS\s+)?([^\W\d]\w*))?", re.IGNORECASE)
"""A further table in FROM, if there is one with that name."""

_MEASURES = re.compile(r"\bMEASURES\b(.*?)\bPATTERN\s*\(", re.IGNORECASE | re.DOTALL)
_WINDOW = re.compile(r"\bWINDOW\s+(?:TUMBLING|HOPPING|CUMULATING|SESSION)\b|\bTABLE\s*\(", re.IGNORECASE)
_WITH = re.compile(r"(?:\bWITH|,)\s+([^\W\d]\w*)\s+AS\s*\(", re.IGNORECASE)
_NAMED_AFTER = {"DESCRIBE", "DESC", "EXTENDED", "PRINT", "STREAM", "TABLE", "VIEW", "EXISTS"}
"""Words before the name of an existing definition."""

_QUERY_NAME = re.compile(r"\bQUERY\s+(?:IF\s+EXISTS\s+)?\Z", re.IGNORECASE)
_SINK_NAME = re.compile(
    r"(?:\bSINK\s+(?:IF\s+EXISTS\s+)?|\A\s*INSERT\s+INTO\s+|\bQUERY\s+[\w.`]+\s+INTO\s+)\Z", re.IGNORECASE
)
_DESCRIBED_QUERY = re.compile(r"\A\s*DESC(?:RIBE)?\s+(?:EXTENDED\s+)?QUERY\s+\Z", re.IGNORECASE)
_NEW = re.compile(r"\A\s*CREATE\s+(?!OR\s+REPLACE)", re.IGNORECASE)
_KEYWORD_TEXTS = {"PARTITION_BY": "PARTITION BY", "ORDER_BY": "ORDER BY", "ONE": "ONE ROW PER MATCH",
                  "AFTER": "AFTER MATCH SKIP", "MATCH_RECOGNIZE": "MATCH_RECOGNIZE (",
                  "PRIMARY_KEY": "PRIMARY KEY (", "FRAME": "ROWS BETWEEN CURRENT ROW AND"}  # fmt: skip
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


@dataclass(frozen=True)
class Suggestion:
    """A text that may be typed next, and its meaning."""

    text: str
    meaning: str = ""


@dataclass(frozen=True)
class _Completed:
    """The statement before the cursor, the whole statement, and the known names."""

    head: str
    whole: str
    relations: Mapping[str, Relation]
    functions: Mapping[str, str]
    settings: tuple[str, ...]
    queries: tuple[str, ...]
    sinks: tuple[str, ...]


def suggest(
    before: str,
    after: str = "",
    relations: Iterable[Relation] = (),
    functions: Mapping[str, str] | None = None,
    settings: Iterable[str] = (),
    queries: Iterable[str] = (),
    sinks: Iterable[str] = (),
) -> list[Suggestion]:
    """Return texts that fit at the cursor and begin with the word before it, the likeliest first.

    before, after: the text on both sides of the cursor.
    relations:     those of the catalog.
    functions:     their signatures by name.
    settings:      names for SET.
    queries:       names of standing queries.
    sinks:         names of sinks.
    Nothing is suggested inside quoted texts and comments.
    """
    if _OPEN.search(_QUOTED.sub(_blank, before)):
        return []
    begin = max((match.end() for match in re.finditer(";", _QUOTED.sub(_blank, before))), default=0)
    before = before[begin:]
    after = after.split(";")[0]
    word_match = _WORD.search(before)
    word = word_match[0] if word_match else ""
    head = before[: len(before) - len(word)]
    relations_by_name = {relation.name.lower(): relation for relation in relations}
    place = _Completed(
        head, head + word + after, relations_by_name, functions or {}, tuple(settings), tuple(queries), tuple(sinks)
    )
    return _unique(_all(place), word)


def _all(place: "_Completed") -> list[Suggestion]:
    """Return all texts that fit at a place."""
    head = place.head
    if (points := re.search(r"[\w-]+(?:\.[\w-]+)*\.\Z", head)) and "OPTION_KEY" in _expected(head[: points.start()]):
        # A name with dots is completed from its last dot on.
        begun = points[0].lower()
        names = _options(head[: points.start()], place.settings)
        return [Suggestion(n.text[len(begun) :], n.meaning) for n in names if n.text.lower().startswith(begun)]
    if head.rstrip().endswith(".") and not head.rstrip()[:-1].rstrip().endswith(")"):
        return _members(head, place.whole, place.relations)
    return _at(_expected(head), place)


def _expected(head: str) -> set[str]:
    return language().expected(head)


def _unique(names: list[Suggestion], word: str) -> list[Suggestion]:
    """Return the texts that begin with a word, each once."""
    unique = {name.text.lower(): name for name in reversed(names) if _fits(name.text, word)}
    return [name for name in dict.fromkeys(names) if unique.get(name.text.lower()) is name]


def _blank(match: re.Match) -> str:
    return " " * len(match[0])


def _fits(name: str, word: str) -> bool:
    return name.lower().startswith(word.strip("`").lower()) and name.lower() != word.lower()


def _at(terminals: set[str], place: "_Completed") -> list[Suggestion]:
    head, whole, relations = place.head, place.whole, place.relations
    unwritten = (language().NO_KEYWORDS - _KEYWORD_TEXTS.keys()) | {"$END"}
    keywords = [Suggestion(_KEYWORD_TEXTS.get(name, name)) for name in sorted(terminals - unwritten)]
    last = re.findall(r"\w+", head.upper())[-1:]
    if _DESCRIBED_QUERY.search(head):
        return [Suggestion(name, "query") for name in place.queries]
    if _is_type(head) or ("TYPE" in terminals and last != ["WATERMARK"]):
        return [Suggestion(kind, "type") for kind in _TYPES]
    if "RELATION" in terminals:
        of_with = [Suggestion(name, "query of WITH") for name in _WITH.findall(head)]
        return [*of_with, *_named(relations.values()), *keywords]
    if "PATTERN_TEXT" in terminals:
        return [Suggestion(name, "pattern variable") for name in _variables(whole)] + [Suggestion("PERMUTE(")]
    if "OPTION_KEY" in terminals:
        return _options(head, place.settings)
    if words := continuation(head):
        return list(map(Suggestion, words))
    if "EXPRESSION" in terminals or "ORDERED" in terminals:
        return _expression(head, whole, relations, place.functions)
    if "NAME" in terminals:
        return [*keywords, *_names(last, place)]
    if "SQL" in terminals:
        return _sql(terminals, last, keywords, place)
    if _in_match(head) and terminals & {"RPAR", "AS"}:
        if begins_expression(head):
            return _expression(head, whole, relations, place.functions)
        return [*keywords, *map(Suggestion, COMPARISONS)]
    return keywords


def _sql(terminals: set[str], last: list[str], keywords: list[Suggestion], place: "_Completed") -> list[Suggestion]:
    """Return texts that fit in plain SQL."""
    head, whole, relations = place.head, place.whole, place.relations
    if last == ["AS"] and "$END" in terminals:
        return []
    if not head.strip() or "$END" not in terminals:
        own = [keyword for keyword in keywords if keyword.text not in ("FROM", "JOIN")]
        return [*own, *map(Suggestion, ("SELECT", "WITH", "VALUES"))]
    words = list(map(Suggestion, fitting_words(head)))
    if not begins_expression(head):
        return [*words, *(keyword for keyword in keywords if keyword.text not in ("FROM", "JOIN") or words)]
    columns = _columns(whole, relations) or [_column(column) for name in relations.values() for column in name.columns]
    return [
        *_measures(whole),
        *columns,
        *words,
        *(Suggestion(f"{name}(", signature) for name, signature in place.functions.items()),
    ]


def _names(last: list[str], place: "_Completed") -> list[Suggestion]:
    """Return the existing names that fit where the grammar expects a name; none for a new definition."""
    head, whole = place.head, place.whole
    if last == ["USING"]:
        return [Suggestion(name, "format") for name in formats(head)]
    if last == ["FORMAT"]:
        return [Suggestion(name, "format") for name in FORMATS_OF_RECORDS]
    if (
        last == ["DEFINE"]
        or (_in_match(head) and head.rstrip().endswith(","))
        or re.search(r"\b(SKIP\s+TO|SUBSET)\b.*\Z", head, re.IGNORECASE | re.DOTALL)
    ):
        return [Suggestion(name, "pattern variable") for name in _variables(whole)]
    if last == ["FOR"] or re.search(r"\bPRIMARY\s+KEY\s*\([^)]*\Z", head, re.IGNORECASE):
        return [Suggestion(name, "column") for name in _defined_columns(head)]
    if _NEW.match(head) and not _SINK_NAME.search(head):
        return _named(place.relations.values()) if re.search(r"\bBACKFILL\s+FROM\s+\Z", head, re.IGNORECASE) else []
    if _SINK_NAME.search(head) and not (_NEW.match(head) and last == ["SINK"]):
        return [Suggestion(name, "sink") for name in place.sinks]
    if _QUERY_NAME.search(head):
        return [Suggestion(name, "query") for name in place.queries]
    if not _NAMED_AFTER & set(last):
        return []
    kind = re.findall(r"\b(STREAM|TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?\Z", head, re.IGNORECASE)
    return _named(each for each in place.relations.values() if not kind or _is_kind(each, kind[0].upper()))


def _is_kind(relation: Relation, kind: str) -> bool:
    if isinstance(relation, View) or kind == "VIEW":
        return isinstance(relation, View) and kind == "VIEW"
    return relation.streaming == (kind == "STREAM")


def _options(head: str, settings: Iterable[str]) -> list[Suggestion]:
    if re.search(r"\A\s*(?:SET|RESET)\s+\Z", head, re.IGNORECASE):
        return [Suggestion(name, "setting") for name in settings]
    return [Suggestion(name, "option") for name in option_names(head)]


def _is_type(head: str) -> bool:
    """Tell whether plain SQL expects a type here: after AS in CAST, or after two colons."""
    return bool(re.search(r"\bCAST\s*\((?:[^()]|\([^()]*\))*\bAS\s+\Z|::\s*\Z", head, re.IGNORECASE))


def _in_match(head: str) -> bool:
    """Tell whether the text ends within the measures or the definitions of a MATCH_RECOGNIZE."""
    begun = re.split(r"\bMATCH_RECOGNIZE\s*\(", _QUOTED.sub(_blank, head), flags=re.IGNORECASE)
    inside = len(begun) > 1 and begun[-1].count("(") >= begun[-1].count(")")
    clauses = re.findall(r"\b(MEASURES|DEFINE|PATTERN)\b", begun[-1], re.IGNORECASE) if inside else []
    return bool(clauses) and clauses[-1].upper() != "PATTERN"


def _named(relations: Iterable[Relation]) -> list[Suggestion]:
    return [Suggestion(relation.name, "stream" if relation.streaming else "table or view") for relation in relations]


def _expression(
    head: str, whole: str, relations: Mapping[str, Relation], functions: Mapping[str, str]
) -> list[Suggestion]:
    """Return texts that an expression in MATCH_RECOGNIZE, or in a definition, may begin with."""
    suggestions = _columns(whole, relations)
    if re.search(r"\b(MEASURES|DEFINE)\b", head, re.IGNORECASE):
        suggestions = [Suggestion(f"{name}.", "pattern variable") for name in _variables(whole)] + suggestions
        suggestions += [Suggestion(name, meaning) for name, meaning in _NAVIGATION.items()]
    suggestions = [Suggestion(name, "column") for name in _defined_columns(head)] + suggestions
    return [*suggestions, *(Suggestion(f"{name}(", signature) for name, signature in functions.items())]


def _defined_columns(head: str) -> list[str]:
    """Return the columns that a CREATE declares so far."""
    defined = re.findall(r"\bCREATE\b[^(]*\((.*)", head, re.IGNORECASE | re.DOTALL)
    pattern = r"(?:^|,)\s*(?!(?:WATERMARK|PRIMARY)\b)(\w+)\s+\w+"
    return re.findall(pattern, defined[-1], re.IGNORECASE) if defined else []


def _measures(whole: str) -> list[Suggestion]:
    """Return the names of the measures of the patterns in a statement."""
    texts = _MEASURES.findall(_QUOTED.sub(_blank, whole))
    names = [name for text in texts for name in re.findall(r"\bAS\s+([^\W\d]\w*)", text, re.IGNORECASE)]
    return [Suggestion(name, "measure") for name in names]


def _relations(whole: str, relations: Mapping[str, Relation]) -> list[tuple[Relation, str]]:
    """Return the known relations in FROM, with their aliases in lower case."""
    listed = _LISTED.findall(whole) if re.search(r"\bFROM\b", whole, re.IGNORECASE) else []
    named = [(name.strip("`").lower(), alias.lower()) for name, alias in (*_RELATION.findall(whole), *listed)]
    return [(relations[name], alias) for name, alias in named if name in relations]


def _columns(whole: str, relations: Mapping[str, Relation]) -> list[Suggestion]:
    """Return the columns of the relations in FROM, with their types."""
    columns = [_column(column) for relation, _ in _relations(whole, relations) for column in relation.columns]
    windows = ("window_start", "window_end") if _WINDOW.search(whole) else ()
    return [*(Suggestion(name, "of the window") for name in windows), *columns]


def _column(column: ColumnDefinition) -> Suggestion:
    return Suggestion(column.name, column.type.lower())


def _members(head: str, whole: str, relations: Mapping[str, Relation]) -> list[Suggestion]:
    """Return the columns of the name before a dot: a relation, its alias, or a pattern variable."""
    owner = re.findall(r"(\w+|`[^`]+`)\s*\.\s*\Z", head)
    if not owner:
        return []
    name = owner[0].strip("`").lower()
    for relation, alias in _relations(whole, relations):
        if name in (alias, relation.name.lower()):
            return [_column(column) for column in relation.columns]
    if name in map(str.lower, _variables(whole)) or _in_match(head):
        return _columns(whole, relations)
    if re.search(rf"\)\s*(?:AS\s+)?{re.escape(name)}\b", whole, re.IGNORECASE) and (measures := _measures(whole)):
        return [*measures, *_columns(whole, relations)]
    return []


def _variables(whole: str) -> list[str]:
    """Return the pattern variables that a statement names in PATTERN and DEFINE."""
    text = _QUOTED.sub(_blank, whole)
    named = re.findall(r"[^\W\d]\w*", " ".join(_PATTERN.findall(text)))
    defined = re.findall(r"([^\W\d]\w*)\s+AS\b", " ".join(_DEFINED.findall(text)), re.IGNORECASE)
    return [name for name in dict.fromkeys([*named, *defined]) if name.upper() != "PERMUTE"]
