"""File names for streams, tables and queries."""

import hashlib

_LONGEST = 120
"""In bytes. A file system allows 255, and the name has further parts."""


def file_name(name: str) -> str:
    """Return a file name for a definition, a different one for each name; case does not count.

    Letters, digits and `_` stay, other characters are escaped, so that any other character but `%` can separate the
    name from what follows it. A long name ends in a hash of the whole.

    >>> file_name("Trades"), file_name("r-1"), file_name("größe")
    ('trades', 'r%2d1', 'größe')
    """
    plain = name.lower()
    escaped = "".join(one if one.isalnum() or one == "_" else _escaped(one) for one in plain)
    if len(_bytes(escaped)) <= _LONGEST:
        return escaped
    # No escape begins like this, so that no other name can equal it.
    ending = f"%_{hashlib.sha256(_bytes(plain)).hexdigest()[:32]}"
    return _bytes(escaped)[: _LONGEST - len(ending)].decode(errors="ignore") + ending


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in _bytes(character))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
