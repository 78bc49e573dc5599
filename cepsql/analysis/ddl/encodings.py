"""The encodings of files of text: which can be read, and with which options Spark reads them by rows."""

import re
from collections.abc import Mapping

from cepsql.errors import NotSupportedError
from cepsql.language.statements import CreateSource

_NAMES = {
    "utf8": "UTF-8", "utf16": "UTF-16", "utf16le": "UTF-16LE", "utf16be": "UTF-16BE", "utf32": "UTF-32",
    "iso88591": "ISO-8859-1", "latin1": "ISO-8859-1", "usascii": "US-ASCII", "ascii": "US-ASCII",
}  # fmt: skip
"""Spark's names of encodings, by their names in small letters and digits only."""

_WIDE = ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32")
_MARKED = ("UTF-16", "UTF-32")
_OPTIONS = ("encoding", "charset")


def check_encoding(create: CreateSource) -> None:
    """Raise NotSupportedError if a stream or table has an encoding whose rows would not be read."""
    options = {name.lower(): value for name, value in create.options}
    encoding = next((options[name] for name in _OPTIONS if name in options), None)
    if create.format not in ("csv", "json", "text") or encoding is None or "$" in encoding:
        return
    name, span = _canonical(encoding), create.name.span
    if name is None:
        hint = (
            f"encodings: {', '.join(sorted(set(_NAMES.values())))}; iconv -f {encoding} -t UTF-8 makes UTF-8 of a file"
        )
        raise NotSupportedError(f"the encoding {encoding} is not supported", span, hint)
    if name != "UTF-8" and (create.format == "text" or create.value is not None):
        raise NotSupportedError(f"files of text lines are read as UTF-8, not as {name}", span, _converted(name))
    if create.format == "json" and name in _MARKED and options.get("multiline", "").lower() != "true":
        unmarked = "UTF-16LE or UTF-16BE reads files without one; " if name == "UTF-16" else ""
        raise NotSupportedError(
            f"JSON lines are not read as {name}, whose files begin with a mark", span, unmarked + _converted(name)
        )
    if create.format == "csv" and name in _WIDE and options.get("multiline", "").lower() == "false":
        raise NotSupportedError(
            f"CSV in {name} is not read with multiLine 'false'", span, "leave out multiLine: values may hold line ends"
        )


def encoding_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with which Spark finds the ends of rows in the encoding of files; those that are given stay.

    >>> encoding_options("csv", {"encoding": "utf16"})
    {'encoding': 'UTF-16', 'multiLine': 'true'}
    """
    spelled = {name.lower(): name for name in options}
    option = next((spelled[name] for name in _OPTIONS if name in spelled), None)
    name = _canonical(options[option]) if option is not None else None
    if option is None or name is None:
        return dict(options)
    named = dict(options) | {option: name}
    if format == "csv" and name in _WIDE and not {"multiline", "linesep"} & spelled.keys():
        # Spark splits a file into lines at single bytes.
        return named | {"multiLine": "true"}
    if format == "json" and name != "UTF-8" and not {"multiline", "linesep"} & spelled.keys():
        return named | {"lineSep": "\n"}
    return named


def _canonical(name: str) -> str | None:
    return _NAMES.get(re.sub(r"[^a-z0-9]", "", name.lower()))


def _converted(name: str) -> str:
    return f"iconv -f {name} -t UTF-8 makes UTF-8 of a file"
