"""Parse one line of JSON lines as Spark does, with Jackson's rules and Spark's settings."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

WRONG: Any = object()
"""A placeholder for a value that is not of its column's type."""

_DEPTH, _DIGITS, _NAME_BYTES, _TEXT = 1000, 1000, 50_000, 20_000_000
_ESCAPE = r"\\(?:[\"\\/bfnrt']|u[0-9a-fA-F]{4})"
_TOKEN = re.compile(
    rf"""
    (?P<text>"[^"\\\x00-\x1f]*+(?:{_ESCAPE}[^"\\\x00-\x1f]*+)*+"|'[^'\\\x00-\x1f]*+(?:{_ESCAPE}[^'\\\x00-\x1f]*+)*+')
    |(?P<float>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++))
    |(?P<special>NaN|[+-]?Infinity|[+-]INF)
    |(?P<integer>-?(?:0|[1-9][0-9]*+))
    |(?P<true>true)|(?P<false>false)|(?P<null>null)
    |(?P<nested>[\[{{])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\n\r]*")
_PART = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)|[^\\]+", re.DOTALL)
_SINGLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CLOSERS = {"{": "}", "[": "]"}
_STRAY = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Malformed(Exception):
    """The line is not JSON, or not an object or array of objects."""


@dataclass(frozen=True)
class _Line:
    """A decoded line.

    text:   with low surrogates for bytes that are not UTF-8.
    broken: whether there are such bytes.
    raw:    whether Spark can take the raw text of values from the line.
    """

    text: str
    broken: bool = False
    raw: bool = True


def read_line(line: bytes, columns: Mapping[str, Callable[[str, str], object]]) -> tuple[list[dict[str, object]], int]:
    """Return the rows of a line, values by column name, and how many rows are malformed: one is 0.

    columns: functions from a token's kind and text to a value, or WRONG. The kinds are `text` (unescaped), `integer`,
             `float`, `special` (NaN and infinities), `true`, `false` and `nested`.
    The line is an object or an array of objects; if anything follows it, the line is one malformed row.
    The last value of a repeated name counts, but all its values are checked.
    """
    try:
        return _rows(_decoded(line), columns)
    except (_Malformed, UnicodeError):
        return [], 1


def _rows(line: _Line, columns: Mapping) -> tuple[list[dict[str, object]], int]:
    at = _space(line.text, 0)
    if at == len(line.text):
        return [], 0
    if line.text[at] == "{":
        row, well, at = _object(line, at + 1, columns, 1)
        _expect_end(line.text, at)
        return ([row], 0) if well else ([], 1)
    if line.text[at] != "[":
        raise _Malformed
    rows, good, at = [], True, _space(line.text, at + 1)
    if line.text.startswith("]", at):
        _expect_end(line.text, at + 1)
        return [], 0
    while True:
        if not line.text.startswith("{", at):
            raise _Malformed
        row, well, at = _object(line, at + 1, columns, 2)
        rows.append(row)
        good &= well
        at = _space(line.text, at)
        if line.text.startswith("]", at):
            _expect_end(line.text, at + 1)
            return (rows, 0) if good else ([], len(rows))
        at = _space(line.text, _passed(line.text, at, ","))


def _object(line: _Line, at: int, columns: Mapping, depth: int) -> tuple[dict[str, object], bool, int]:
    """Return the values of an object, whether all have their types, and its end; `at` is after its opening brace."""
    text, well = line.text, True
    row: dict[str, object] = {}
    at = _space(text, at)
    if text.startswith("}", at):
        return row, well, at + 1
    while True:
        name, at = _name(line, at)
        begin = at
        kind, at = _value(line, at, depth)
        convert = columns.get(name)
        if convert is not None:
            value = None if kind == "null" else convert(*_meant(line, kind, begin, at))
            well &= value is not WRONG
            row[name] = value
        at = _space(text, at)
        if text.startswith("}", at):
            return row, well, at + 1
        at = _space(text, _passed(text, at, ","))


def _meant(line: _Line, kind: str, begin: int, end: int) -> tuple[str, str]:
    value = line.text[begin:end]
    if kind == "text":
        value = _java_text(_unescaped(value[1:-1], line.broken, strict=True))
        if len(value) > _TEXT:
            raise _Malformed
    elif kind == "nested" and not line.raw:
        value = ""
    elif line.broken:
        value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return kind, value


def _name(line: _Line, at: int) -> tuple[str, int]:
    """Return a name, and the position of the value after its colon."""
    token = _TOKEN.match(line.text, at)
    if not token or token.lastgroup != "text":
        raise _Malformed
    name = token[0][1:-1]
    if line.broken or "\\" in name:
        name = _joined(_unescaped(name, line.broken, strict=True))
        if _SURROGATE.search(name):
            raise _Malformed
    if len(name) > _NAME_BYTES // 4 and len(name.encode()) > _NAME_BYTES:
        raise _Malformed
    return name, _space(line.text, _passed(line.text, _space(line.text, token.end()), ":"))


def _value(line: _Line, at: int, depth: int) -> tuple[str, int]:
    """Return the kind of the value at `at`, and its end; `depth`: the number of open arrays and objects."""
    token = _TOKEN.match(line.text, at)
    if not token:
        raise _Malformed
    kind, end = token.lastgroup or "", token.end()
    if kind == "nested":
        return kind, _nested_end(line, at, depth)
    if kind in ("integer", "float"):
        if end - at > _DIGITS and sum(map(str.isdigit, token[0])) > _DIGITS:
            raise _Malformed
    elif kind == "text" and line.broken:
        _unescaped(token[0][1:-1], True, strict=token[0][0] == "'")
    return kind, end


def _nested_end(line: _Line, at: int, depth: int) -> int:
    """Return the end of the array or object that begins at `at`."""
    text = line.text
    open = [_CLOSERS[text[at]]]
    at, empty = _space(text, at + 1), True
    while open:
        if depth + len(open) > _DEPTH:
            raise _Malformed
        if empty and text.startswith(open[-1], at):
            open.pop()
            at += 1
        else:
            if open[-1] == "}":
                _, at = _name(line, at)
            if text[at : at + 1] in _CLOSERS:
                open.append(_CLOSERS[text[at]])
                at, empty = _space(text, at + 1), True
                continue
            _, at = _value(line, at, depth)
        end = _space(text, at)
        while open and text.startswith(open[-1], end):
            open.pop()
            at = end + 1
            end = _space(text, at)
        if open:
            at, empty = _space(text, _passed(text, end, ",")), False
    return at


def _space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # No space is a match, too.


def _passed(text: str, at: int, mark: str) -> int:
    if not text.startswith(mark, at):
        raise _Malformed
    return at + 1


def _expect_end(text: str, at: int) -> None:
    if _space(text, at) != len(text):
        raise _Malformed


def _decoded(line: bytes) -> _Line:
    """Decode a line by the encoding that Jackson guesses from its first bytes."""
    encoding, skipped = _encoding(line)
    line = line[skipped:]
    if encoding != "utf-8":
        unit = 2 if "16" in encoding else 4
        return _Line(line[: len(line) // unit * unit].decode(encoding), raw=False)
    try:
        return _Line(line.decode())
    except UnicodeDecodeError:
        return _Line(line.decode(errors="surrogateescape"), broken=True)


def _encoding(line: bytes) -> tuple[str, int]:
    """Return the encoding and the length of the byte order mark."""
    if len(line) >= 4:
        for mark, encoding in (
            (b"\x00\x00\xfe\xff", "utf-32-be"),
            (b"\xff\xfe\x00\x00", "utf-32-le"),
            (b"\xfe\xff", "utf-16-be"),
            (b"\xff\xfe", "utf-16-le"),
            (b"\xef\xbb\xbf", "utf-8"),
        ):
            if line.startswith(mark):
                return encoding, len(mark)
        zeros = [not octet for octet in line[:4]]
        if all(zeros[:3]):
            return "utf-32-be", 0
        if all(zeros[1:]):
            return "utf-32-le", 0
        if sum(zeros) == 3:
            raise _Malformed
    if len(line) >= 2 and not (line[0] and line[1]):
        return ("utf-16-le" if line[0] else "utf-16-be"), 0
    return "utf-8", 0


def _unescaped(text: str, broken: bool, strict: bool) -> str:
    """Return the text of a string between quotes, which may have unpaired surrogates."""
    if not broken:
        return text if "\\" not in text else _PART.sub(_part, text)
    return "".join(_part(part) if part[0][0] == "\\" else _lenient(part[0], strict) for part in _PART.finditer(text))


def _part(part: re.Match) -> str:
    if part[1]:
        return chr(int(part[1], 16))
    return _SINGLE.get(part[2], part[2]) if part[2] else part[0]


def _lenient(text: str, strict: bool) -> str:
    """Decode UTF-8 as Jackson does: a character may be overlong, or beyond Unicode.

    strict: refuse encoded surrogates.
    Raises _Malformed if bytes are missing.
    """
    if not _STRAY.search(text):
        return text
    octets, out, at = text.encode("utf-8", "surrogateescape"), [], 0
    while at < len(octets):
        first = octets[at]
        size = 1 if first < 0x80 else 2 if first >> 5 == 6 else 3 if first >> 4 == 14 else 4 if first >> 3 == 30 else 0
        more = octets[at + 1 : at + size]
        if not size or len(more) < size - 1 or any(octet >> 6 != 2 for octet in more):
            raise _Malformed
        code = first & (0x7F, 0x1F, 0x0F, 0x07)[size - 1]
        for octet in more:
            code = code << 6 | octet & 0x3F
        if size == 3 and strict and 0xD800 <= code < 0xE000:
            raise _Malformed
        if size == 4:
            code -= 0x10000
            out.append(chr((0xD800 | code >> 10) & 0xFFFF) + chr(0xDC00 | code & 0x3FF))
        else:
            out.append(chr(code))
        at += size
    return "".join(out)


def _joined(text: str) -> str:
    """Join pairs of surrogates to characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _java_text(text: str) -> str:
    """Replace unpaired surrogates, as Java does when it encodes a text."""
    return _joined(text).encode("utf-8", "replace").decode() if _SURROGATE.search(text) else text
