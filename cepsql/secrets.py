"""What in options and texts is secret, and how it is kept from being shown."""

import re
from collections.abc import Iterable

_WORDS = r"password|passwd|secret|token|credential|key|jaas|authorization|cookie|\bauth\b"
_NAME = re.compile(rf"^header\.|{_WORDS}", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"""((?:password|passwd|secret|token|credential|access.?key|api.?key)[\w.-]*["']?\s*(?:->|=>|=|:)\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s,;&)}\]]+)""",
    re.IGNORECASE,
)
_KEYS = r"(access|account|api|auth|encryption|master|private|shared|signing|storage).?key"
_CERTAIN = re.compile(r"password|passwd|secret|token$|credential|authorization|cookie|\bauth\b|" + _KEYS, re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:bearer|basic|token|apikey)\s+[^\s$]+", re.IGNORECASE)
_IN_URL = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
_ASSIGNED_VALUE = re.compile(r"""\b\w*(?:password|secret|token)\w*\s*=\s*("[^"]*"|'[^']*'|[^\s,;]+)""", re.IGNORECASE)
_QUOTED_NAME = rf"[`'\"]?[\w.-]*(?:\bheader\.|{_WORDS})[\w.-]*[`'\"]?"
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
_OPTION = re.compile(rf"(\b(?:SET\s+{_QUOTED_NAME}\s*=\s*|{_QUOTED_NAME}\s+)')((?:[^']|'')*)(?=')", re.IGNORECASE)


def is_secret(option: str) -> bool:
    """Tell whether the value of an option of that name must not be shown."""
    return bool(_NAME.search(option))


def holds_secret(option: str, value: str) -> bool:
    """Tell whether the value of an option is, or holds, a password, token or key.

    >>> holds_secret("password", "x"), holds_secret("url", "postgresql://u:x@h/d"), holds_secret("key", "match_id")
    (True, True, False)
    """
    return bool(_CERTAIN.search(option)) or spells_secret(value)


def spells_secret(value: str) -> bool:
    """Tell whether a text itself says that it has a password, token or key; what is empty in it is none.

    >>> spells_secret("postgresql://u:x@h/d"), spells_secret("postgresql://u:@h/d"), spells_secret("Bearer x")
    (True, False, True)
    """
    assigned = any(found[2].strip("\"'") for found in _ASSIGNED.finditer(value))
    return bool(assigned or _IN_URL.search(value) or _SCHEME.match(value))


def secret_values(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of options that must not be shown, and what they in turn name as a password."""
    values = [value for name, value in options if is_secret(name)]
    return values + [found[1].strip("\"'") for value in values for found in _ASSIGNED_VALUE.finditer(value)]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace the secret values, and what follows a name such as `password=`, by ***."""
    for secret in filter(None, secrets):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return _ASSIGNED.sub(r"\1***", text)


def without_secret_options(statement: str) -> str:
    """Return a statement with stars in place of the values of secret options, as many as they have characters.

    >>> without_secret_options("CREATE SINK s USING sqlite OPTIONS (url 'x://u:pw@h', token 't')")
    "CREATE SINK s USING sqlite OPTIONS (url '**********', token '*')"
    """

    def starred(text: str) -> str:
        return re.sub(r"[^\n]", "*", text)

    named = _OPTION.sub(lambda found: found[1] + starred(found[2]), statement)
    return _LITERAL.sub(lambda found: f"'{starred(found[1])}'" if spells_secret(found[1]) else found[0], named)
