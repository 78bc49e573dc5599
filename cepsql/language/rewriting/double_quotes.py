"""What double quotes mean: a text, as in Spark by default, or a name, as in the standard, Flink, Trino and PostgreSQL.

Where they mean names a statement's text is rewritten before anything reads it: `"name"` becomes a name in backquotes.
So what is kept of it, such as the query of a view, means the same in every engine, whatever that one's setting is.
"""

import re

from cepsql.language.tokens import quoted

NAMES_IN_DOUBLE_QUOTES = "spark.sql.ansi.doubleQuotedIdentifiers"
"""Spark's setting that makes what is in double quotes a name."""

_KEY = rf"`?{re.escape(NAMES_IN_DOUBLE_QUOTES)}`?"

_PARTS = re.compile(
    rf"""
    --[^\n]* | /\*.*?\*/ | `(?:[^`]|``)*` | '(?:[^'\\]|\\.|'')*' | \b[rR](?:'[^']*'|"[^"]*")
    | \bSET\s+{_KEY}\s*=?\s*['"]?(?P<value>true|false)\b['"]?
    | (?P<reset>\bRESET\s*(?:{_KEY}|(?=;|\Z)))
    | "(?P<name>(?:[^"]|"")*)"
    """,
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_TEXT = re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL)


def with_quoted_names(sql: str, names: bool, usual: bool = False) -> str:
    """Return the text with backquotes in place of the double quotes that mean names.

    names: what they mean at the beginning of the text; its own SET and RESET statements change that for what follows.
    usual: what they mean after RESET.
    What follows a name stands where it stood, unless the name has a backquote in it.

    >>> with_quoted_names('SELECT "a""b", "c" FROM t', True)
    'SELECT `a"b` , `c` FROM t'
    >>> with_quoted_names('SELECT "a"; SET spark.sql.ansi.doubleQuotedIdentifiers = true; SELECT "a"', False)
    'SELECT "a"; SET spark.sql.ansi.doubleQuotedIdentifiers = true; SELECT `a`'
    """
    if '"' not in sql or not (names or "doublequotedidentifiers" in sql.lower()):
        return sql
    pieces, at = [], 0
    while (part := _PARTS.search(sql, at)) is not None:
        written = part.group()
        pieces.append(sql[at : part.start()])
        at = part.end()
        if part["value"] is not None:
            names = part["value"].lower() == "true"
        elif part["reset"] is not None:
            names = usual
        elif part["name"] is not None and names:
            written = quoted(part["name"].replace('""', '"')).ljust(len(written))
        elif part["name"] is not None and (text := _TEXT.match(sql, part.start())) is not None:
            written, at = text.group(), text.end()
        pieces.append(written)
    return "".join([*pieces, sql[at:]])
