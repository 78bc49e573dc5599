"""The forms of statements and clauses in the grammar."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from cepsql.frontends.shell.form_lines import WIDTH, form_lines
from cepsql.language.parse import grammar_text

_ISLANDS = {
    "SQL": "query", "RELATION": "relation", "TABLE_ALIAS": "[AS] alias", "EXPRESSION": "expression",
    "ORDERED": "expression [ASC | DESC]", "TYPE": "TYPE", "NAME": "name", "PATTERN_TEXT": "row pattern",
    "FRAME": "ROWS BETWEEN CURRENT ROW AND n FOLLOWING", "VALUE": "value", "OPTION_KEY": "'text'",
    "ARGUMENT": "argument", "PATTERN_WINDOW": "OVER (", "EXPLAIN_DETAILS": "PLAN FOR", "QUERY_NAME": "name",
    "TOPIC_TEXT": "'topic'", "CONSTANT_LIST": "constant, ...",
}  # fmt: skip
"""Readable texts for terminals that stand for plain SQL or a name."""

_SHORT = {
    "qualified_name": "name", "query": "query", "option": "key 'value'", "nested": "(query)",
    "or_replace": "OR REPLACE", "if_not_exists": "IF NOT EXISTS", "if_exists": "IF EXISTS",
}  # fmt: skip
"""Rules with a short text, without a line of their own."""

_OF_KEYS = ("set", "reset", "alter")
"""Rules in which an OPTION_KEY is the name of a setting or option; elsewhere it is a text."""

_LONG = 3
"""The largest number of words of a rule that is written inline."""

_RULE = re.compile(r"^\??(\w+):((?:.*\n(?:[ \t]+\|.*\n)*))", re.MULTILINE)
_TAIL = re.compile(r"^(_\w+_tail): (.*)\n", re.MULTILINE)
_PART = re.compile(r'"[^"]*"|->\s*\w+|\w+|[()\[\]|*+?]')


@dataclass(frozen=True)
class _RulePart:
    """A part of a rule: a name, a text in quotes, or a sequence or choice of parts; `repeat` is "", "?", "*" or "+"."""

    kind: str
    text: str = ""
    parts: "tuple[_RulePart, ...]" = ()
    repeat: str = ""


@cache
def rules() -> dict[str, _RulePart]:
    """Return the body of each rule of the grammar of statements, by its name."""
    text = with_tails_in_place(re.sub(r"//.*", "", grammar_text("cepsql.lark")) + "\n")
    return {name: _choice(_PART.findall(body)) for name, body in _RULE.findall(text)}


def with_tails_in_place(grammar: str) -> str:
    """Return a grammar with each rule `_..._tail`, which is the end of another rule, inlined."""
    tails = dict(_TAIL.findall(grammar))
    return re.sub(r"\b_\w+_tail\b", lambda match: tails[match[0]], _TAIL.sub("", grammar))


def _choice(tokens: list[str]) -> _RulePart:
    """Read parts up to their closing bracket, and remove their tokens."""
    choices: list[list[_RulePart]] = [[]]
    while tokens:
        token = tokens.pop(0)
        match token:
            case "|":
                choices.append([])
            case ")" | "]":
                break
            case "(" | "[":
                inner = _choice(tokens)
                choices[-1].append(_RulePart("group", parts=(inner,), repeat="?" if token == "[" else ""))
            case "*" | "+" | "?":
                last = choices[-1].pop()
                choices[-1].append(_RulePart(last.kind, last.text, last.parts, token))
            case _ if not token.startswith("->"):
                choices[-1].append(_RulePart("text" if token[0] == '"' else "name", token.strip('"')))
    sequences = tuple(_RulePart("sequence", parts=tuple(parts)) for parts in choices)
    return sequences[0] if len(sequences) == 1 else _RulePart("choice", parts=sequences)


def statement_rules() -> tuple[str, ...]:
    """Return the names of the rules of statements."""
    return tuple(dict.fromkeys(_names(rules()["statement"])))


def used_rules(name: str, ends: Iterable[str] = ()) -> set[str]:
    """Return a rule and the rules that it uses; `ends` are rules whose parts do not count."""
    used_names, to_see, closed = {name}, [name], set(ends) - {name}
    while to_see:
        new = {used for used in _names(rules()[to_see.pop()]) if used in rules()} - used_names
        used_names |= new
        to_see += new - closed
    return used_names


def keywords_of(names: Iterable[str]) -> set[str]:
    """Return the keywords in rules."""
    named = (used for name in names for used in _names(rules()[name]) if used.isupper() and used not in _ISLANDS)
    return {word for used in named for word in (used, *used.split("_"))}


def form(names: Iterable[str], elsewhere: Iterable[str]) -> str:
    """Return the form of rules, each on a line of its own, followed by those of their parts.

    elsewhere: rules with a form of their own, which is not repeated.
    """
    parts = list(names)
    without_heading, lines = set(parts), []
    others = {name for name in elsewhere if not _is_short(name)} - without_heading
    for name in parts:
        head = "" if name in without_heading else f"  {_readable_name(name)}:  "
        body = rules()[name]
        choices = body.parts if body.kind == "choice" and name not in without_heading else (body,)
        written = [_text(choice, others) for choice in choices]
        if name in _OF_KEYS:
            written = [text.replace(_ISLANDS["OPTION_KEY"], "key") for text in written]
        long = sum(map(len, written)) > WIDTH
        for number, line in enumerate(written if long else [" | ".join(written)]):
            begin = head if not number else "    | "
            lines += form_lines(line, begin)
        parts += [used for used in dict.fromkeys(_referred(body, others)) if used not in parts]
    return "\n".join(lines)


def _readable_name(name: str) -> str:
    return name.strip("_").replace("_", " ")


def _names(part: _RulePart) -> Iterator[str]:
    if part.kind == "name":
        yield part.text
    for inner in part.parts:
        yield from _names(inner)


def _referred(body: _RulePart, others: set[str]) -> Iterator[str]:
    """Yield the rules in a form that are explained below it."""
    for name in _names(body):
        if name not in rules() or name in _SHORT or name in others:
            continue
        if _is_short(name):
            yield from _referred(rules()[name], others)
        else:
            yield name


def _is_short(name: str) -> bool:
    body = rules()[name]
    return body.kind != "choice" and sum(1 for _ in _names(body)) <= _LONG


def _text(part: _RulePart, others: set[str]) -> str:
    """Return a part of a rule as text."""
    match part.kind:
        case "text":
            written = part.text
        case "name":
            written = _named(part.text, others)
        case "choice":
            written = " | ".join(dict.fromkeys(_text(choice, others) for choice in part.parts))
        case "sequence":
            written = _sequence(part.parts, others)
        case _:
            written = _text(part.parts[0], others)
            if not part.repeat and part.parts[0].kind == "choice":
                written = f"{{{written}}}"
    return {"?": f"[{written}]", "*": f"[{written}]...", "+": f"{written}..."}.get(part.repeat, written)


def _named(name: str, others: set[str]) -> str:
    if name.isupper():
        return _ISLANDS.get(name) or (name if name == "MATCH_RECOGNIZE" else name.replace("_", " "))
    if name in _SHORT:
        return _SHORT[name]
    return _readable_name(name) if name in others or not _is_short(name) else _text(rules()[name], others)


def _sequence(parts: tuple[_RulePart, ...], others: set[str]) -> str:
    """Return parts one after the other; a list with commas has its item once."""
    written: list[str] = []
    for part in parts:
        inner = part.parts[0].parts if part.repeat == "*" and part.parts else ()
        text = _text(part, others)
        if len(inner) == 2 and inner[0].text in (",", ".") and written and _text(inner[1], others) == written[-1]:
            written[-1] += ", ..." if inner[0].text == "," else ""
        elif text:
            written.append(text)
    joined = " ".join(written)
    return re.sub(r"(?<=\() | (?=[),])", "", joined)
