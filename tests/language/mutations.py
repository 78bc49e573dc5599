"""Statements of the tests, queries and docs, and random changes of them."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

from sqlglot.dialects.spark import Spark

from cepsql.language.parse import keywords

ROOT = Path(__file__).parents[2]
RELATIONS = """
CREATE STREAM events (k STRING, ts TIMESTAMP, n INT, x INT, y INT, s STRING, WATERMARK FOR ts AS ts) USING csv;
CREATE TABLE records (k STRING, ts TIMESTAMP, n INT, x INT, y INT, s STRING) USING csv;
"""
"""What the cases of rules of row patterns read."""

_BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"^#.*\n", re.MULTILINE)
_TOKEN = re.compile(
    r"""\s+|--[^\n]*|'(?:[^'\\]|\\.)*'|"[^"]*"|`[^`]*`|[\d.]+|\w+|<=>|->|::|\|\||[<>=!]=|.""", re.DOTALL
)
_PIECES = (
    "(", ")", "[", "]", "{", "}", ",", ";", ".", "*", "+", "-", "/", "%", "|", "||", "^", "$", "?", "??", "=", "<",
    ">", "<>", "<=>", "!", "::", ":", "->", "=>", "@", "&", "~", "()", "{,}", "{2,1}", "{-", "-}", "0", "1", "-1",
    "2.5", "1e400", "3000000000", "9" * 5000, "'x'", "''", "'1 day'", '"A"', "`a b`", "NULL", "TRUE", "A.*", "A.x.y",
    "place.lat", "t.place.lat", "A.place.lat", "tags[0]", "x -> x", ":p", "INTERVAL '1' DAY", "INTERVAL 1 MONTH",
    "INTERVAL", "DATE '2026-01-01'", "TIMESTAMP", "DECIMAL(99, 99)", "STRUCT<a: INT>", "MAP<STRING, INT>",
    "(SELECT 1)", "(SELECT max(price) FROM trades)", "IN (SELECT sym FROM companies)", "EXISTS (SELECT 1)", "OVER ()",
    "FILTER (WHERE TRUE)", "WITHIN GROUP (ORDER BY price)", "IGNORE NULLS", "DISTINCT", "ORDER BY x", "map('a', )",
    "CLASSIFIER()", "MATCH_NUMBER()", "CLASSIFIER(A.*)", "FIRST", "LAST", "PREV", "NEXT", "RUNNING", "FINAL",
    "LATERAL", "PIVOT", "UNNEST", "--", "/*", "*/",
)  # fmt: skip
_OPERANDS = (
    "price", "qty", "sym", "ts", "amount", "day", "active", "place", "tags", "place.lat", "A.place.lat",
    "t.place.lat", "place.nope", "A.B.price", "tags[0]", "A.tags[0]", "nope", "A", "B.price", "A.*", "*", "NULL",
    "TRUE", "''", "'x'", "0", "-1", "2.5", "1e400", "3000000000", "CLASSIFIER()", "CLASSIFIER(A)", "MATCH_NUMBER()",
    "MATCH_ID()", "MATCH_ROWTIME()", "MATCH_TIMEOUT()", "INTERVAL '1' DAY", "INTERVAL 1 MONTH", "DATE '2026-01-01'",
    "(SELECT max(price) FROM trades)", "(SELECT sym FROM companies WHERE companies.sym = A.sym)", "(SELECT 1, 2)",
    "array(1, 2)", "map('a', 1)", "struct(1 AS a)", ":p", "x -> x", "price OVER ()", "COUNT()", "COUNT(*)",
    "array_agg(CLASSIFIER())", "1 = ANY (SELECT 1)",
)  # fmt: skip
_FORMS = (
    "NOT {0}", "- {0}", "{0} IS NULL", "{0} IN (1, 2)", "{0} IN (SELECT sym FROM companies)", "EXISTS (SELECT {0})",
    "CASE WHEN {0} THEN 1 END", "CASE {0} WHEN 1 THEN 2 ELSE 'x' END", "CAST({0} AS DECIMAL(10, 2))", "{0}::STRING",
    "TRY_CAST({0} AS STRUCT<a: INT>)", "{0} BETWEEN 1 AND 2", "{0} LIKE 'a%' ESCAPE '!'", "{0} LIKE ANY ('a', 'b')",
    "{0} || {0}", "{0} <=> {0}", "{0}.x", "{0}[0]", "{0} DIV 2", "{0} COLLATE utf8_lcase", "{0} AT TIME ZONE 'UTC'",
    "RUNNING {0}", "FINAL {0}", "{0} FILTER (WHERE {0})", "{0} OVER (PARTITION BY {0})", "{0} IGNORE NULLS",
    "DISTINCT {0}", "{0} ORDER BY {0}", "{0} AS x", "filter({0}, x -> x > 1)", "({0}, {0})", "EXTRACT(DAY FROM {0})",
    "{0} IS DISTINCT FROM 1", "{0} RLIKE 'x'", "SUM({0}) FILTER (WHERE {0} > 1)",
    "listagg({0}) WITHIN GROUP (ORDER BY {0})",
)  # fmt: skip
_CALLS = (
    "FIRST", "LAST", "PREV", "NEXT", "PREV(LAST", "RUNNING LAST", "FINAL LAST", "SUM", "AVG", "MIN", "MAX", "COUNT",
    "COUNT_IF", "BOOL_OR", "ARRAY_AGG", "MAX_BY", "CLASSIFIER", "MATCH_NUMBER", "FIRST_VALUE", "LISTAGG",
    "PERCENTILE",
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A text that stands in a file, with the definitions that stand before it there."""

    file: Path
    definitions: str
    text: str


@cache
def corpus() -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Return the statements that are right as they stand, most of them, and those that are wrong."""
    right = []
    for path in sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"]):
        right += _in_order(path, _BLOCK.findall(path.read_text("utf-8")))
    for path in sorted([*ROOT.glob("queries/**/*.sql"), *ROOT.glob("tests/*/*.sql")]):
        right += _in_order(path, [text for text, _ in _cases(path)])
    for path in sorted(ROOT.glob("tests/streams/*.test")):
        right.append(Statement(path, "", path.read_text("utf-8").split("\n\n")[0]))
    for path in sorted(ROOT.glob("tests/pattern/rules/*.txt")):
        right += [_clause(path, text.splitlines()) for text, _ in _cases(path)]
    wrong = [Statement(path, "", text) for path in sorted(ROOT.glob("tests/errors/*.txt")) for text, _ in _cases(path)]
    return tuple(right), tuple(wrong)


def _cases(path: Path) -> list[list[str]]:
    text = _HEAD.sub("", path.read_text("utf-8"))
    return [[*case.split("\n----\n"), ""][:2] for case in text.split("\n====\n")]


def _clause(path: Path, lines: list[str]) -> Statement:
    """Return the statement of a case of a rule: a title, a line about rows or relation, perhaps what is shown."""
    relation = "events" if "stream" in lines[1] else "records"
    text = "\n".join(line for line in lines[2:] if not line.startswith("show "))
    if not text.startswith("SELECT"):
        whole = text if "ORDER BY" in text else f"PARTITION BY k ORDER BY ts {text}"
        text = f"SELECT * FROM {relation} MATCH_RECOGNIZE ({whole})"
    return Statement(path, RELATIONS, text)


@cache
def functions() -> tuple[str, ...]:
    """Return the names of all functions that sqlglot knows, of any SQL."""
    parser = Spark.parser_class
    return tuple(sorted({*parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *map(str, parser.NO_PAREN_FUNCTION_PARSERS)}))


def mutation(random: Random) -> Statement:
    """Return a statement with one to three changes."""
    right, wrong = corpus()
    statement = random.choice(right if random.random() < 0.8 else wrong)
    tokens = _TOKEN.findall(statement.text)
    for _ in range(random.choice((1, 1, 2, 3))):
        tokens = _changed(random, tokens)
    return Statement(statement.file, statement.definitions, "".join(tokens))


def _in_order(path: Path, texts: list[str]) -> list[Statement]:
    ordered, before = [], ""
    for text in texts:
        ordered.append(Statement(path, before, text))
        if re.search(r"\bCREATE\b", text):
            before += text.rstrip().rstrip(";") + ";\n"
    return ordered


def _changed(random: Random, tokens: list[str]) -> list[str]:
    """Change a token: mostly to another of its kind, so that what comes out is often still a statement."""
    words = [i for i, token in enumerate(tokens) if not token.isspace()]
    following = dict(pairwise(words))
    # A name before a parenthesis is a call's, a name after a point a field's.
    operands = [i for i in words if _kind(tokens[i]) == "operand" and tokens[following.get(i, i)] not in ("(", ".")]
    if not operands:
        return [*tokens, _piece(random)]
    i, operand, kind = random.choice(words), random.choice(operands), random.random()
    if kind < 0.5:
        begin = operand - 2 if operand > 1 and tokens[operand - 1] == "." else operand
        return [*tokens[:begin], _operand(random, "".join(tokens[begin : operand + 1])), *tokens[operand + 1 :]]
    if kind < 0.6:
        same = [tokens[j] for j in words if _kind(tokens[j]) == _kind(tokens[i])]
        return [*tokens[:i], random.choice(same), *tokens[i + 1 :]]
    if kind < 0.7:
        return [*tokens[:i], f" {_piece(random)} ", *tokens[i + 1 :]]
    if kind < 0.8:
        return [*tokens[:i], f" {_piece(random)} ", *tokens[i:]]
    if kind < 0.85:
        return tokens[:i] + tokens[i + 1 :]
    if kind < 0.88:
        return [*tokens[: i + 1], " ", *tokens[i:]]
    if kind < 0.93:
        j = random.choice(words)
        swapped = list(tokens)
        swapped[i], swapped[j] = tokens[j], tokens[i]
        return swapped
    if kind < 0.95:
        depth = random.choice((2, 50, 150, 1000))
        return [*tokens[:operand], "(" * depth, tokens[operand], ")" * depth, *tokens[operand + 1 :]]
    j = min(len(tokens), i + random.randint(1, 12))
    return tokens[:j] + tokens[i:j] + tokens[j:] if random.random() < 0.5 else tokens[:i] + tokens[j:]


def _kind(token: str) -> str:
    if token[0] in "'`\"" or token[0].isdigit():
        return "operand"
    if token.isidentifier():
        return "keyword" if token.upper() in keywords() else "operand"
    return token if token in "()[]{},;." else "sign"


def _operand(random: Random, instead: str) -> str:
    """Return an expression that may stand where a name or constant stands."""
    kind = random.random()
    if kind < 0.35:
        return _call(random, instead)
    if kind < 0.5:
        return f"{random.choice(_CALLS)}({instead}{random.choice(('', '', ', 1', ', 3000000000', '.*'))})"
    if kind < 0.75:
        return random.choice(_OPERANDS)
    return random.choice(_FORMS).format(instead)


def _piece(random: Random) -> str:
    kind = random.random()
    if kind < 0.6:
        return random.choice(_PIECES)
    if kind < 0.8:
        return random.choice(sorted(keywords()))
    return _call(random, "price")


def _call(random: Random, inner: str) -> str:
    arguments = random.choice(
        ("", inner, inner, f"{inner}, 1", f"{inner}, {inner}, 'x'", "*", f"DISTINCT {inner}", f"{inner},")
    )
    return f"{random.choice(functions())}({arguments})"
