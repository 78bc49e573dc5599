"""Names of streams, tables and queries as names of files."""

import hashlib

_LONGEST = 120
"""Bytes. A file system has names of 255, and others stand beside this one in a name."""


def file_name(name: str) -> str:
    """Return a name for the files of what is called so, another one for each name but for case, which names have not.

    Letters, digits and `_` stay, others are escaped: what follows such a name, after any other character but `%`, is
    told from it. A long name ends in a hash of the whole.

    >>> file_name("Trades"), file_name("r-1"), file_name("größe")
    ('trades', 'r%2d1', 'größe')
    """
    plain = name.lower()
    escaped = "".join(one if one.isalnum() or one == "_" else _escaped(one) for one in plain)
    if len(_bytes(escaped)) <= _LONGEST:
        return escaped
    # No escape begins so: no other name looks like it.
    ending = f"%_{hashlib.sha256(_bytes(plain)).hexdigest()[:32]}"
    return _bytes(escaped)[: _LONGEST - len(ending)].decode(errors="ignore") + ending


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in _bytes(character))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
