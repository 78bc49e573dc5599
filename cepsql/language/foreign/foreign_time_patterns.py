"""Patterns of dates and times: those with % of other engines, and those of Java, which are Spark's, too."""

import re
from collections.abc import Mapping

OF_C: Mapping[str, str] = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "e": "d", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "f": "SSSSSS",
    "b": "MMM", "h": "MMM", "B": "MMMM", "a": "EEE", "A": "EEEE", "p": "a", "j": "DDD", "F": "yyyy-MM-dd",
    "T": "HH:mm:ss", "R": "HH:mm", "D": "MM/dd/yy", "z": "Z", "-d": "d", "-m": "M", "-H": "H", "-I": "h", "%": "%",
}  # fmt: skip
"""What follows % in patterns of BigQuery, DuckDB and Python."""

OF_MYSQL: Mapping[str, str] = {
    "Y": "yyyy", "y": "yy", "m": "MM", "c": "M", "d": "dd", "e": "d", "H": "HH", "k": "H", "h": "hh", "I": "hh",
    "l": "h", "i": "mm", "s": "ss", "S": "ss", "f": "SSSSSS", "b": "MMM", "M": "MMMM", "a": "EEE", "W": "EEEE",
    "p": "a", "j": "DDD", "T": "HH:mm:ss", "r": "hh:mm:ss a", "%": "%",
}  # fmt: skip
"""What follows % in patterns of MySQL and Trino."""

OF_ORACLE: Mapping[str, str] = {
    "YYYY": "yyyy", "YY": "yy", "MM": "MM", "MON": "MMM", "DD": "dd", "DY": "E", "HH24": "HH", "HH12": "hh", "HH": "hh",
    "MI": "mm", "SS": "ss", "FF6": "SSSSSS", "US": "SSSSSS", "FF3": "SSS", "MS": "SSS", "AM": "a", "PM": "a",
    "T": "'T'",
}  # fmt: skip
"""Words of patterns of Oracle, PostgreSQL, Snowflake and others."""

_SIGN = re.compile(r"%(-?.)|([A-Za-z'\[\]#]+)|([^%A-Za-z'\[\]#]+)", re.DOTALL)
_WORDS = re.compile("|".join([*sorted(OF_ORACLE, key=len, reverse=True), "."]), re.DOTALL)
_OF_ORACLE = re.compile(r"YYYY|HH24|HH12|MI|DD|FF\d")
_OF_NAMES = re.compile("E|D")
_JAVA = re.compile(r"(?:[yMdHhmsSaEL\W\d]|'[^']*')*")


def java_pattern(pattern: str, signs: Mapping[str, str], parsing: bool = False) -> str | None:
    """Return a pattern with % as one of Java's, None where it has a sign that Java's do not.

    parsing: it is to read a text, for which Spark takes no days of the week.

    >>> java_pattern("%Y-%m-%d at %H:%i", OF_MYSQL)
    "yyyy-MM-dd 'at' HH:mm"
    """
    if "{" in pattern:
        return None
    pieces = []
    for sign, letters, others in _SIGN.findall(pattern):
        if sign and sign not in signs:
            return None
        text = letters.replace("'", "''")
        pieces.append(signs[sign] if sign else f"'{text}'" if letters else others)
    whole = "".join(pieces)
    return None if parsing and _OF_NAMES.search(re.sub("'[^']*'", "", whole)) else whole


def of_oracle(pattern: str) -> str | None:
    """Return a pattern of Oracle's as one of Java's; None for what is none, or has words that Java's have not.

    >>> of_oracle("YYYY-MM-DD HH24:MI:SS"), of_oracle("yyyy-MM-dd"), of_oracle("YYYY Q")
    ('yyyy-MM-dd HH:mm:ss', None, None)
    """
    if not _OF_ORACLE.search(pattern):
        return None
    words = [OF_ORACLE.get(word, word) for word in _WORDS.findall(pattern)]
    rest = [word for word in _WORDS.findall(pattern) if word not in OF_ORACLE]
    return None if any(re.search("[A-Za-z'{]", word) for word in rest) else "".join(words)


def is_java_pattern(pattern: str) -> bool:
    """Tell whether a pattern has signs only that all engines with patterns of Java's read alike."""
    return "%" not in pattern and _JAVA.fullmatch(pattern) is not None
