"""The features that tests are of, so that `pytest -m joins` runs all tests of joins."""

import re

FEATURES = {
    "patterns": r"pattern|match|skip|measure|running|quantifier",
    "windows": r"window|session|tumbl|hop|slid|over|frame|group",
    "joins": r"join|as_of|asof|lookup|semi",
    "changes": r"change|changelog|rank|top_rows|upsert|debezium|table",
    "time": r"time|clock|watermark|late|heartbeat|arrival|silence|zone",
    "sources": r"source|scan|csv|json|parquet|encoding|file|backfill",
    "sinks": r"sinks?/|sink|webhook",
    "kafka": r"kafka|offset",
    "standing": r"standing/|checkpoint|savepoint|restart|faults/|remote/|cluster/",
    "shell": r"frontends/|shell|prompt|completion",
    "python": r"test_python|pandas|notebook|testing|readable",
    "language": r"language/|syntax|statement|grammar",
    "plans": r"plan/|plans?\b|explain|identity",
    "functions": r"scalar/|function|aggregate|condition",
    "docs": r"docs|doctest|site|reference|queries|readme",
    "errors": r"errors?/|error|failure|refus",
}
"""What the path, or the name, of the tests of a feature has in it."""


def features(node: str) -> list[str]:
    """Return the features that a test is of, by its file and its name."""
    named = node.removeprefix("tests/").lower()
    return [feature for feature, words in FEATURES.items() if re.search(words, named)]
