"""Draw the grammar: `python docs/make_syntax.py` writes docs/syntax.md and a picture of each rule in docs/syntax/."""

import io
import re
from pathlib import Path

import railroad
from lark import Lark, Token, Tree

from cepsql.frontends.shell.grammar_forms import with_tails_in_place

DOCS = Path(__file__).parent
GRAMMARS = {"cepsql.lark": {}, "pattern.lark": {"pattern": "row_pattern"}}
"""The files, and what their rules are called here where two have the same name."""

ISLANDS = {
    "SQL": "part of a query in plain SQL",
    "RELATION": "relation",
    "TABLE_ALIAS": "[AS] alias [(columns)]",
    "EXPRESSION": "expression",
    "ORDERED": "expression [ASC | DESC]",
    "TYPE": "type",
    "NAME": "name",
    "PATTERN_TEXT": "alternation",
    "FRAME": "ROWS BETWEEN CURRENT ROW AND ... FOLLOWING",
    "VALUE": "value",
    "OPTION_KEY": "key or 'text'",
    "INT": "number",
    "row_pattern": "alternation",
}
"""Terminals that stand for a stretch of plain SQL, as people read them."""

TITLES = {
    "Definitions": ("create_stream", "create_table", "create_view", "create_materialized", "create_group",
                    "create_sink", "create_query", "drop"),
    "Standing queries": ("control", "alter", "insert"),
    "Questions and settings": (
        "show", "show_extended", "show_functions", "show_create", "show_history", "describe", "describe_query", "print",
        "subscribe",
        "summarize", "explain", "explain_picture", "explain_match", "explain_analyze", "explain_replace",
        "explain_replace_view", "set", "reset",
    ),
    "Row patterns": ("alternation", "concatenation", "factor", "primary", "quantifier"),
    "Queries": ("query", "from_clause", "from_item", "match_recognize", "window_pattern", "deduplicate"),
}  # fmt: skip
"""The rules that begin a section, in the order of the page; what they use follows under `Parts`."""

_STYLE = (
    "svg{background:#fff} path{stroke:#444;stroke-width:1.5;fill:none} text{font:13px monospace;text-anchor:middle} "
    "rect{stroke:#444;stroke-width:1.5;fill:#eef4fb} g.non-terminal rect{fill:#fdf6e3}"
)
_SMALL, _ROW = 5, 6


def written() -> dict[str, str]:
    """Return the text of each file by its path below docs/."""
    rules = _rules()
    used = _used(rules)
    files, lines = {}, [_HEAD]
    parts = [name for name in used if name not in {rule for names in TITLES.values() for rule in names}]
    for title, names in (*TITLES.items(), ("Parts", parts)):
        lines += [f"## {title}", ""]
        for name in sorted(names) if title == "Parts" else names:
            files[f"syntax/{name}.svg"] = _svg(rules[name], rules)
            lines += [f"### {name.strip('_').replace('_', ' ')}", "", f"![{name}](syntax/{name}.svg)", ""]
    return files | {"syntax.md": "\n".join(lines).rstrip() + "\n"}


_HEAD = """# Syntax

These diagrams are drawn from the grammar in [grammar/](../grammar) by `docs/make_syntax.py`; a test keeps them equal.
Words in capitals stand as they are, in any case; only `MATCH_RECOGNIZE` is reserved. A yellow box is a part with a
diagram of its own, or a stretch of plain Spark SQL. Statements are separated by `;`.
"""


def _rules() -> dict[str, Tree]:
    """Return the body of each rule, that of `?name` as `name`."""
    parser = Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr")
    found: dict[str, Tree] = {}
    for file, renamed in GRAMMARS.items():
        text = (DOCS.parent / "grammar" / file).read_text("utf-8")
        for before, after in renamed.items():
            text = re.sub(rf"\b{before}\b", after, text)
        for item in parser.parse(with_tails_in_place(text + "\n")).children:
            if isinstance(item, Tree) and item.data == "rule":
                found.setdefault(str(item.children[0]).lstrip("?!"), item.children[2])
    return found


def _used(rules: dict[str, Tree]) -> list[str]:
    """Return the rules that are drawn: those of the titles, and what they name that is not drawn in place."""
    found = [name for names in TITLES.values() for name in names]
    for name in found:
        for used in _names(rules[name], rules):
            if used in rules and used not in [*found, *ISLANDS] and not _is_small(used, rules):
                found.append(used)
    return found


def _names(tree: Tree, rules: dict[str, Tree]):
    """Yield the names in a rule's body and in what is drawn in place there."""
    for token in tree.scan_values(lambda value: isinstance(value, Token) and value.type in ("RULE", "TOKEN")):
        name = str(token)
        yield name
        if name in rules and _is_small(name, rules):
            yield from _names(rules[name], rules)


def _is_small(name: str, rules: dict[str, Tree]) -> bool:
    tokens = list(rules[name].scan_values(lambda value: isinstance(value, Token)))
    titled = name in {rule for names in TITLES.values() for rule in names}
    return len(tokens) <= _SMALL and not titled and not any(token.type == "RULE" for token in tokens)


def _svg(body: Tree, rules: dict[str, Tree]) -> str:
    text = io.StringIO()
    railroad.Diagram(_drawn(body, rules), css=_STYLE).writeStandalone(text.write, _STYLE)
    return text.getvalue() + "\n"


def _drawn(node, rules: dict[str, Tree]):
    match node:
        case Token(type="RULE" | "TOKEN"):
            return _named(str(node), rules)
        case Token():
            return railroad.Terminal(str(node).split('"')[1])
        case Tree(data="expansions"):
            return railroad.Choice(0, *(_drawn(child, rules) for child in node.children))
        case Tree(data="alias"):
            return _drawn(node.children[0], rules)
        case Tree(data="expansion"):
            parts = [_drawn(child, rules) for child in node.children]
            rows = [railroad.Sequence(*parts[i : i + _ROW]) for i in range(0, len(parts), _ROW)]
            return parts[0] if len(parts) == 1 else rows[0] if len(rows) == 1 else railroad.Stack(*rows)
        case Tree(data="maybe"):
            return railroad.Optional(_drawn(node.children[0], rules))
        case Tree(data="expr"):
            inner, repeat = _drawn(node.children[0], rules), node.children[1]
            match str(repeat or ""):
                case "*":
                    return railroad.ZeroOrMore(inner)
                case "+":
                    return railroad.OneOrMore(inner)
                case "?":
                    return railroad.Optional(inner)
            return inner
        case Tree():
            return _drawn(node.children[0], rules)
    raise TypeError(node)


def _named(name: str, rules: dict[str, Tree]):
    if name in ISLANDS:
        return railroad.NonTerminal(ISLANDS[name])
    if name in rules:
        shown = name.strip("_").replace("_", " ")
        return _drawn(rules[name], rules) if _is_small(name, rules) else railroad.NonTerminal(shown)
    if name == "PATTERN_WINDOW":
        return railroad.Terminal("(")
    if name in ("QUESTION", "RELUCTANT"):
        return railroad.Terminal("?")
    return railroad.Terminal(name.replace("_BY", " BY").replace("_KEY", " KEY"))


def write(files: dict[str, str]) -> None:
    """Write the files below docs/, and remove pictures of rules that are gone."""
    folder = DOCS / "syntax"
    folder.mkdir(exist_ok=True)
    for picture in folder.glob("*.svg"):
        picture.unlink()
    for file, text in files.items():
        (DOCS / file).write_text(text, "utf-8")


if __name__ == "__main__":
    write(written())
