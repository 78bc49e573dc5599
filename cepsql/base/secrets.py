"""Detect secrets in options and texts, and hide them."""

import re
from collections.abc import Iterable

_PASSWORD = r"pass(?:word|wd|phrase|code)|pwd"
_WORDS = rf"{_PASSWORD}|\bpass\b|secret|token|credential|key|jaas|authorization|cookie|\bauth\b"
_NAME = re.compile(rf"^header\.|{_WORDS}", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"""((?:(?:{_PASSWORD}|secret|token|credential|access.?key|api.?key)[\w.-]*["']?\s*(?:->|=>|=|:)|\bpass=)\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s,;&)}\]]+)""",
    re.IGNORECASE,
)
_KEYS = r"(access|account|api|auth|encryption|master|private|shared|signing|storage).?key"
_CERTAIN = re.compile(
    rf"{_PASSWORD}|\bpass\b|secret|token$|credential|authorization|cookie|\bauth\b|{_KEYS}", re.IGNORECASE
)
_SCHEME = re.compile(r"\s*(?:bearer|basic|token|apikey)\s+[^\s$]+", re.IGNORECASE)
# Digits before a `/` are a port, except for SQLAlchemy, which reads everything up to the `@` as password.
_IN_URL = re.compile(
    r"(?:://[^/@\s:[]*:(?!\d*[/?#,])|(?<!jdbc:)\bpostgres(?:ql)?(?:\+\w+)?://[^/@\s:]*:|\bjdbc:oracle:\w+:[^/@\s]*/)"
    r"([^@\s]+)@",
    re.IGNORECASE,
)
_SENT = re.compile(r"(\b(?:bearer|basic)\s+)(?!(?:token|auth)\w*\b)[\w.~+/=-]{6,}", re.IGNORECASE)
"""The value of an Authorization header."""
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----).*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
"""A private key in PEM format, possibly cut off."""
_ASSIGNED_VALUE = re.compile(
    rf"""\b\w*(?:{_PASSWORD}|secret|token)\w*\s*=\s*("[^"]*"|'[^']*'|[^\s,;&]+)""", re.IGNORECASE
)
_QUOTED_NAME = rf"[`'\"]?[\w.-]*(?:\bheader\.|{_WORDS})[\w.-]*[`'\"]?"
_PLACE = re.compile(r"\s*https?://[^/?#]*(.*)", re.IGNORECASE | re.DOTALL)
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{10,}")
_PLAIN_HEADER = re.compile(r"header\.(?:accept|content|user-agent)", re.IGNORECASE)
_DOOR = re.compile(r"header\..*(?:\bapi|auth(?!or)|key|token|session|\bsign)", re.IGNORECASE)
_QUOTED = r"""(?:'(?:[^'\\]|\\[\s\S]|'')*(?:'|\\?\Z)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|\\?\Z))"""
_TEXT = re.compile(_QUOTED)
_ADDRESS = re.compile(rf"""(\burl[`'"]?(?:\s*=\s*|\s+))({_QUOTED})""", re.IGNORECASE)
# Before `=`, the name must be certain: a column `key` may be compared with any text.
_CERTAIN_NAME = rf"[`'\"]?[\w.-]*(?:\bheader\.|{_CERTAIN.pattern.replace('$', '')})[\w.-]*[`'\"]?"
_OPTION = re.compile(
    rf"(?<![\w.-])(?P<name>(?:SET\s+{_QUOTED_NAME}\s*=|{_CERTAIN_NAME}\s*=|{_QUOTED_NAME}(?=\s))\s*)(?P<value>{_QUOTED})",
    re.IGNORECASE,
)
_SETTING = re.compile(rf"(?P<name>\bSET\s+{_QUOTED_NAME}\s*=\s*)(?P<value>[^\s'\";][^;\n]*)", re.IGNORECASE)
"""A setting with an unquoted value."""


def is_secret(option: str) -> bool:
    """Tell whether the value of an option of that name must not be shown."""
    return bool(_NAME.search(option))


def holds_secret(option: str, value: str) -> bool:
    """Tell whether the value of an option is, or holds, a password, token or key.

    >>> holds_secret("password", "x"), holds_secret("url", "postgresql://u:x@h/d"), holds_secret("key", "match_id")
    (True, True, False)
    """
    return bool(_CERTAIN.search(option)) or spells_secret(value) or lets_in(option, value)


def is_hidden(option: str, value: str) -> bool:
    """Tell whether an option must not be shown, because of its value or its name."""
    return is_secret(option) or holds_secret(option, value)


def lets_in(option: str, value: str) -> bool:
    """Tell whether a web address, or a header sent to it, includes credentials.

    Parts that look random are treated as credentials: letters and digits mixed, ten or more characters.

    >>> lets_in("url", "https://h/services/T000/hunter2secret"), lets_in("url", "https://h/alerts/v2?place=eu-west-1")
    (True, False)
    >>> lets_in("header.X-Api", "x"), lets_in("header.X-Place", "north"), lets_in("header.Content-Type", "text/plain")
    (True, False, False)
    """
    if option.lower() == "url":
        place = _PLACE.match(value)
        return bool(place and _RANDOM.search(place[1]))
    if not option.lower().startswith("header.") or not value or _PLAIN_HEADER.match(option):
        return False
    return bool(_DOOR.match(option) or _RANDOM.search(value))


def spells_secret(value: str) -> bool:
    """Tell whether a text itself names a password, token or key that is not empty.

    >>> spells_secret("postgresql://u:x@h/d"), spells_secret("postgresql://u:@h/d"), spells_secret("Bearer x")
    (True, False, True)
    """
    assigned = any(match[2].strip("\"'") for match in _ASSIGNED.finditer(value))
    return bool(assigned or _IN_URL.search(value) or _SCHEME.match(value))


def secret_values(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of secret options, and the passwords within the values of all options."""
    options = list(options)
    named = [match[1].strip("\"'") for _, value in options for match in _ASSIGNED_VALUE.finditer(value)]
    named += [match[1] for _, value in options for match in _IN_URL.finditer(value)]
    return [value for name, value in options if is_secret(name)] + named


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace by *** the secret values, values after names such as `password=`, tokens after `Bearer` or `Basic`,
    passwords in URLs, and private keys.

    >>> redact("Authorization: Bearer eyJhbGciOi.x; https://u:pw@h/x")
    'Authorization: Bearer ***; https://u:***@h/x'
    """
    for secret in filter(None, secrets):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    text = _SENT.sub(r"\1***", _PRIVATE_KEY.sub(r"\1***\2", text))
    return _ASSIGNED.sub(r"\1***", _without_url_passwords(text))


def _without_url_passwords(text: str) -> str:
    return _IN_URL.sub(lambda match: f"{match[0][: match.start(1) - match.start()]}***@", text)


def without_secrets(value: str) -> str:
    """Return the value of an option with stars in place of its passwords, tokens and keys.

    >>> without_secrets("jdbc:postgresql://h/d?user=u&password=x&ssl=true"), without_secrets("https://u:x@h/y")
    ('jdbc:postgresql://h/d?user=u&password=***&ssl=true', 'https://u:***@h/y')
    >>> without_secrets("jdbc:oracle:thin:scott/tiger@//h:1521/d"), without_secrets("Bearer x")
    ('jdbc:oracle:thin:scott/***@//h:1521/d', '***')
    """
    if _SCHEME.fullmatch(value):
        return "***"
    return redact(value)


def without_password(location: str) -> str:
    """Return the address of a database without its password.

    >>> without_password("postgresql://u:x@h/d"), without_password("postgresql://u@h/d?password=x")
    ('postgresql://u:***@h/d', 'postgresql://u@h/d?password=***')
    """
    return redact(re.sub(r"(://[^/@:]*):[^@]*@", r"\1:***@", location))


def without_secret_options(statement: str) -> str:
    """Return a statement with each character in the values of secret options replaced by a star.

    >>> without_secret_options("CREATE SINK s USING sqlite OPTIONS (url 'x://u:pw@h', token 't')")
    "CREATE SINK s USING sqlite OPTIONS (url '**********', token '*')"
    """

    def starred(text: str) -> str:
        return re.sub(r"[^\n]", "*", text)

    def hidden(text: str) -> str:
        end = text[-1] if len(text) > 1 and text[-1] == text[0] else ""
        return text[0] + starred(text[1 : len(text) - len(end)]) + end

    def address(match: re.Match) -> str:
        return match[1] + (hidden(match[2]) if lets_in("url", match[2][1:-1]) else match[2])

    def literal(match: re.Match) -> str:
        return hidden(match[0]) if spells_secret(match[0][1:-1]) else match[0]

    named = _OPTION.sub(lambda match: match["name"] + hidden(match["value"]), statement)
    named = _SETTING.sub(lambda match: match["name"] + starred(match["value"]), named)
    return _TEXT.sub(literal, _ADDRESS.sub(address, named))
