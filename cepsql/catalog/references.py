"""References in options: `${NAME}` of the environment and `${file:PATH}`, which a catalog never stores resolved."""

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cepsql.base.secrets import holds_secret, lets_in, spells_secret
from cepsql.catalog import Sink
from cepsql.errors import OperationalError

_REFERENCE = re.compile(r"\$\{(file:)?([^}]*)\}")


def resolved(options: Iterable[tuple[str, str]], owner: str) -> dict[str, str]:
    """Return options with the values of all their references; `owner` is the owner of the options, for messages.

    The last line break of a file is not part of its value.
    Raises OperationalError for a variable that is not set and a file that cannot be read.

    >>> os.environ["CEPSQL_DOCTEST"] = "db1"
    >>> resolved([("url", "postgresql://${CEPSQL_DOCTEST}/x")], "the sink s")
    {'url': 'postgresql://db1/x'}
    """
    return {name: _resolved(name, value, owner) for name, value in options}


def valued_sink(sink: Sink) -> Sink:
    """Return a sink with the values of the references in its options; errors as for `resolved`."""
    return replace(sink, options=tuple(resolved(sink.options, f"sink {sink.name}").items()))


def has_references(value: str) -> bool:
    """Tell whether the value of an option has references."""
    return bool(_REFERENCE.search(value))


def references(value: str) -> list[tuple[bool, str]]:
    """Return the references in a value: whether each reads a file, and the name of the file or variable.

    >>> references("x${A}${file:/b}")
    [(False, 'A'), (True, '/b')]
    """
    return [(bool(from_file), name) for from_file, name in _REFERENCE.findall(value)]


def writes_secret(name: str, value: str) -> bool:
    """Tell whether an option spells out a secret, even beside references.

    >>> writes_secret("password", "x"), writes_secret("password", "${DB_PASSWORD}")
    (True, False)
    >>> writes_secret("url", "postgresql://u:${PASSWORD}@${HOST}/d"), writes_secret("url", "postgresql://u:x@${HOST}/d")
    (False, True)
    """
    if not has_references(value):
        return holds_secret(name, value)
    written = _REFERENCE.sub("", value)
    return spells_secret(written) or (name.lower() == "url" and lets_in(name, written))


def referenced_values(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the current values of the references in options, as far as they are known: no message may show them."""
    values = []
    for name, value in options:
        for reference in _REFERENCE.finditer(value):
            try:
                values.append(_value(reference, name, ""))
            except OperationalError:
                continue
    return values


def _resolved(name: str, value: str, owner: str) -> str:
    return _REFERENCE.sub(lambda reference: _value(reference, name, owner), value)


def _value(reference: re.Match, option: str, owner: str) -> str:
    from_file, name = reference.groups()
    if from_file:
        try:
            return Path(name).expanduser().read_text("utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise OperationalError(f"the option {option} of {owner} needs the file {name}: {reason}") from None
    if name not in os.environ:
        hint = f"set it where the query runs: export {name}=..."
        raise OperationalError(f"the option {option} of {owner} needs the environment variable {name}", hint=hint)
    return os.environ[name]
