"""Whether a column's type is one of Spark's: every name in it, however deep, and every size."""

import difflib
import re
from itertools import accumulate

from cepsql.errors import ProgrammingError
from cepsql.language.guard import MAX_NESTING, too_deep
from cepsql.language.tokens import Text

_PLAIN = {
    "BOOLEAN", "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG", "FLOAT", "REAL", "DOUBLE",
    "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "VARIANT",
}  # fmt: skip
_DECIMALS = {"DECIMAL", "DEC", "NUMERIC"}
_TEXTS = {"CHAR", "CHARACTER", "VARCHAR"}
_NESTED = {"ARRAY", "MAP", "STRUCT"}
_INSIDE = {"TIME"}
"""What only Spark reads and shows: no column of its own, but a part of one."""
_UNITS = (("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND"))

_ZONE = ("WITHOUT", "TIME", "ZONE")

TYPES = _PLAIN | _DECIMALS | _TEXTS | _NESTED | {"INTERVAL"}
"""The words that a type begins with."""

_ELSEWHERE = {
    "TEXT": "STRING", "NVARCHAR": "STRING", "VARCHAR2": "STRING", "CLOB": "STRING", "UUID": "STRING", "ENUM": "STRING",
    "DATETIME": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP", "BYTES": "BINARY", "VARBINARY": "BINARY", "BLOB": "BINARY",
    "BYTEA": "BINARY", "BOOL": "BOOLEAN", "INT64": "BIGINT", "INT32": "INT", "FLOAT64": "DOUBLE", "NUMBER": "DECIMAL",
    "FLOAT8": "DOUBLE", "FLOAT32": "FLOAT", "HUGEINT": "DECIMAL(38, 0)", "UBIGINT": "DECIMAL(20, 0)",
    "UINTEGER": "BIGINT", "JSON": "VARIANT", "ROW": "STRUCT", "MONEY": "DECIMAL", "SERIAL": "INT",
    "BIGSERIAL": "BIGINT", "DOUBLE PRECISION": "DOUBLE", "CHARACTER VARYING": "STRING",
}  # fmt: skip
_COMMON = "STRING, INT, BIGINT, DOUBLE, DECIMAL, BOOLEAN, DATE, TIMESTAMP, BINARY, ARRAY, MAP, STRUCT"
_MAX_PRECISION = 38
_FIELD = re.compile(r"\w+|`(?:[^`]|``)+`", re.ASCII)
_WRITTEN = "a column is written: name type [AS expression]"
_OTHERWISE = {
    "PRIMARY KEY": "a key is an entry of its own among the columns: PRIMARY KEY (column, ...) [DELETE WHEN condition]",
    "WHEN": "DELETE WHEN condition follows PRIMARY KEY (column, ...) without a comma",
    "FOR": "did you mean WATERMARK FOR? It stands among the columns",
    "ROWS": "LATE ROWS INTO name follows the OPTIONS of the stream",
}
"""What stands where a type, or its end, was looked for, and how it is written."""


def check_type(text: Text, begin: int, end: int, lengths: bool) -> None:
    """Refuse a type that Spark has not, pointing at the word or number that is wrong.

    begin, end: the tokens of the type.
    lengths:    whether texts may have a greatest length, as columns of tables in databases do.
    Raises ProgrammingError, NotSupportedError for types that are nested too deeply.
    """
    reader = _TypeReader(text, begin, end, lengths)
    if any(depth > MAX_NESTING for depth in accumulate((p == "<") - (p == ">") for p, _ in reader.pieces)):
        raise too_deep(text.span(begin, end))
    after = reader.type_at(0)
    if after < len(reader.pieces):
        word, is_column = reader.word(after), reader.word(after + 1) in TYPES
        comma = f"is a comma missing before {reader.piece(after)}?"
        hint = comma if is_column or word == "WATERMARK" else _OTHERWISE.get(word, _WRITTEN)
        raise reader.error(f"syntax error: unexpected {reader.piece(after)} after the type", after, hint)


class _TypeReader:
    """The pieces of a type: its tokens, with every angle bracket for itself; `depth`: how many are open."""

    def __init__(self, text: Text, begin: int, end: int, lengths: bool):
        self.text, self.end, self.lengths, self.depth = text, end, lengths, 0
        self.pieces = [(piece, i) for i in range(begin, end) for piece in text.angles(i) or [text.raw(i)]]

    def piece(self, at: int) -> str:
        return self.pieces[at][0] if at < len(self.pieces) else ""

    def word(self, at: int) -> str:
        return self.text.word(self.pieces[at][1]) if at < len(self.pieces) else ""

    def error(self, message: str, at: int, hint: str | None = None) -> ProgrammingError:
        return self.text.error(message, self.pieces[at][1] if at < len(self.pieces) else self.end, hint=hint)

    def expect(self, piece: str, at: int) -> int:
        if self.piece(at) != piece:
            before = f" before {self.piece(at)}" if self.piece(at) else ""
            raise self.error(f"syntax error: expected {piece}{before}", at, _WRITTEN)
        return at + 1

    def type_at(self, at: int) -> int:
        """Read a type; return where the piece after it is."""
        word = self.word(at)
        if word in _NESTED:
            return self.nested_at(at, word)
        if word == "INTERVAL":
            return self.interval_at(at)
        if word in _DECIMALS:
            return self.decimal_at(at)
        if word in _TEXTS:
            return self.text_at(at, word)
        if word in _INSIDE:
            return self.inside_at(at, word)
        before = self.text.word(self.pieces[at][1] - 1) if word else ""
        if word not in _PLAIN and before == "FOR":
            raise self.error(f"there is no type {self.piece(at)}", at, _OTHERWISE[before])
        if word not in _PLAIN and difflib.get_close_matches(before, ["PRIMARY"], 1):
            raise self.error(f"there is no type {self.piece(at)}", at, "did you mean PRIMARY KEY?")
        if word not in _PLAIN:
            raise self.error(f"there is no type {self.piece(at)}" if word else "a type is missing", at, _hint(word))
        if self.piece(at + 1) == "(":
            hint = "it has microseconds" if word.startswith("TIMESTAMP") else None
            raise self.error(f"{word} takes no size or precision", at + 1, hint)
        if word == "TIMESTAMP" and tuple(self.word(at + i) for i in (1, 2, 3)) == _ZONE:
            return at + 4
        if word == "STRING" and self.word(at + 1) == "COLLATE":
            return self.inside_at(at + 1, "COLLATE") + 1
        return at + 1

    def inside_at(self, at: int, word: str) -> int:
        """Pass over a word that only stands within ARRAY, MAP and STRUCT."""
        if self.depth == 0:
            raise self.error(f"{word} is not supported for a column by itself", at, "STRING, or STRUCT<name: ...>")
        return at + 1

    def nested_at(self, at: int, word: str) -> int:
        at, self.depth = self.expect("<", at + 1), self.depth + 1
        if word == "STRUCT":
            at = self.fields_at(at)
        else:
            at = self.type_at(at)
            if word == "MAP":
                at = self.type_at(self.expect(",", at))
        self.depth -= 1
        return self.expect(">", at)

    def fields_at(self, at: int) -> int:
        """Read the fields of a STRUCT, which may have none; return where the piece after them is."""
        names: set[str] = set()
        while names or self.piece(at) != ">":
            name = self.piece(at).strip("`").lower()
            if name in names:
                raise self.error(f"two fields are named {name}", at, "names of fields are not case-sensitive")
            names.add(name)
            at = self.field_at(at)
            if self.piece(at) != ",":
                break
            at += 1
        return at

    def field_at(self, at: int) -> int:
        if not _FIELD.fullmatch(self.piece(at)):
            hint = "STRUCT<name: type, ...>; other names than of letters, digits and _ stand in backquotes"
            raise self.error("syntax error: the name of a field is missing", at, hint)
        at = self.type_at(at + 1 + (self.piece(at + 1) == ":"))
        if (self.word(at), self.word(at + 1)) == ("NOT", "NULL"):
            at += 2
        if self.word(at) == "COMMENT":
            at += 2
        if self.piece(at) not in (",", ">"):
            self.expect(">", at)
        return at

    def interval_at(self, at: int) -> int:
        first, last = self.word(at + 1), self.word(at + 3)
        units = next((units for units in _UNITS if first in units), None)
        if units is None:
            raise self.error("an interval says its units", at, "INTERVAL DAY TO SECOND, or INTERVAL YEAR TO MONTH")
        if self.word(at + 2) != "TO":
            return at + 2
        if last not in units or units.index(last) <= units.index(first):
            raise self.error(f"there is no INTERVAL {first} TO {last}", at + 3, f"from {units[0]} to {units[-1]}")
        return at + 4

    def decimal_at(self, at: int) -> int:
        if self.piece(at + 1) != "(":
            return at + 1
        sizes, after = self.sizes_at(at)
        if len(sizes) > 2 or not 1 <= sizes[0] <= _MAX_PRECISION or not 0 <= sizes[-1] <= sizes[0]:
            hint = f"DECIMAL(digits, digits after the point), with up to {_MAX_PRECISION} digits in all"
            written = ", ".join(map(str, sizes))
            raise self.error(f"there is no {self.word(at)}({written})", at, hint)
        return after

    def text_at(self, at: int, word: str) -> int:
        if not self.lengths:
            raise self.error(f"{word} is not supported: texts of streams and tables have no length", at, "STRING")
        return self.sizes_at(at)[1] if self.piece(at + 1) == "(" else at + 1

    def sizes_at(self, at: int) -> tuple[list[int], int]:
        """Read the numbers in brackets after a word; return them, and where the piece after them is."""
        sizes: list[int] = []
        at += 1
        while not sizes or self.piece(at) == ",":
            at += 1
            if not self.piece(at).isdecimal():
                raise self.error("a size is a whole number", at)
            sizes.append(int(self.piece(at)))
            at += 1
        return sizes, self.expect(")", at)


def type_hint(word: str) -> str | None:
    """Return the hint for a type of another engine, in capital letters; None for an unknown word."""
    hint = _ELSEWHERE.get(word)
    return None if hint is None else f"Spark's is {hint}"


def _hint(word: str) -> str:
    if word in _OTHERWISE:
        return _OTHERWISE[word]
    if hint := type_hint(word):
        return hint
    near = difflib.get_close_matches(word, TYPES, 1)
    return f"did you mean {near[0]}?" if near else f"types: {_COMMON}"
