"""Regular expressions: what RE2 and Arrow find by Java's patterns is what Spark finds, or they are left to Spark."""

import random

import pyarrow as pa
from attempts import spark_values
from chance import draws, examples

from cepsql.errors import NotSupportedError
from cepsql.scalar.arrow.arrow_expressions import evaluate
from cepsql.scalar.expressions import STANDARD_SESSION, Apply, Call, Constant, Literal
from cepsql.scalar.regexes import REGEX_FUNCTIONS, re2_regex
from cepsql.scalar.typed_sql import spark_sql
from cepsql.scalar.types import STRING
from cepsql.scalar.typing import typed

SIGNS = [*"aAbBK1_& -\u212a\u017fÉé\u2028\U0001d4b3\n\r\x85"]
ATOMS = [
    *"aabBks1_&.é\U0001d4b3", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\$", r"\n", r"\r", "[ab]", "[^a]",
    "[^&]", "[a-c1]", r"[\d_]", r"[^\s]", "[-a]", "[a-]", "[&]", "^",
]  # fmt: skip
COUNTS = [*[""] * 5, "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{1,}", "{0,2}?", "{0}"]
LEFT_TO_SPARK = [
    "a(?i)b", "(?s)a", "(?=a)b", "(?<x>a)", r"(a)\1", r"\ba", r"\p{L}", "a++", "a**", "(a*)*", "[[:alpha:]]",
    "[a&&b]", "[^[a]]", "a|b$", "[^a]$", r"\Qa\E", "a{1001}", "(", "a)", "[", r"\z", "$a", "]", "a{", "\\", "[b-a]",
    "^*",
]  # fmt: skip


def pattern(draw: random.Random, depth: int = 0) -> str:
    """Draw a pattern of Java's."""
    parts = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        kind = draw.random()
        if kind < 0.25 and depth < 3:
            atom = draw.choice(["(", "(?:"]) + pattern(draw, depth + 1) + ")"
        else:
            atom = draw.choice(ATOMS)
        parts.append(atom + draw.choice(COUNTS))
    text = "".join(parts)
    if draw.random() < 0.2:
        text += "|" + (pattern(draw, depth + 1) if draw.random() < 0.8 else "")
    return text + "$" if depth == 0 and draw.random() < 0.3 else text


def calls(draw: random.Random) -> list[Apply]:
    """Draw typed calls by patterns that RE2 takes."""
    drawn_calls: dict[Apply, None] = {}
    while len(drawn_calls) < examples(120):
        text = draw.choice(["", "", "(?i)"]) + pattern(draw)
        regex = re2_regex(text)
        if regex is None:
            continue
        drawn = [("rlike", []), ("regexp_extract", [draw.randint(0, regex.groups)]), ("regexp_replace", ["<>"])]
        for name, others in drawn:
            try:
                node = typed(
                    Call(name, ("x", Literal(text), *map(Literal, others))), {"x": STRING}.get, STANDARD_SESSION
                )
            except NotSupportedError:
                assert name == "regexp_replace" and (regex.empty or regex.ends)
                continue
            drawn_calls[node] = None
    return list(drawn_calls)


def test_everywhere_the_same_is_found(spark):
    draw = draws(1)
    texts = [
        None,
        "",
        *("".join(draw.choices(SIGNS, k=draw.randint(1, 9))) for _ in range(80)),
        "ab\r\n",
        "a\r\nb\n",
        "\r\n",
    ]
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, x string").coalesce(1)
    column, drawn = pa.array(texts, pa.string()), calls(draw)
    wrong = []
    for node, theirs in zip(drawn, spark_values(frame, [spark_sql(node) for node in drawn]), strict=True):
        constants = [part.value for part in node.arguments[1:] if isinstance(part, Constant)]
        function = REGEX_FUNCTIONS[node.operation]
        ours = [None if text is None else function(text, *constants) for text in texts]
        arrow = evaluate(node, {"x": column}, len(texts), STANDARD_SESSION).to_pylist()
        differs = [(t, a, b, c) for t, a, b, c in zip(texts, theirs, ours, arrow, strict=True) if not a == b == c]
        wrong += [(spark_sql(node), *differs[0])] if differs else []
    assert not wrong, "\n".join(map(repr, wrong[:20])) + f"\n{len(wrong)} of {len(drawn)}"


def test_what_is_left_to_spark():
    assert [text for text in LEFT_TO_SPARK if re2_regex(text) is not None] == []
