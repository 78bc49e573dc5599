"""What in options and texts is secret, and how it is kept from being shown."""

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
# Digits before a `/` are a port, but for SQLAlchemy, which reads all up to the `@` as a password.
_IN_URL = re.compile(
    r"(?:://[^/@\s:[]*:(?!\d*[/?#,])|(?<!jdbc:)\bpostgres(?:ql)?(?:\+\w+)?://[^/@\s:]*:|\bjdbc:oracle:\w+:[^/@\s]*/)"
    r"([^@\s]+)@",
    re.IGNORECASE,
)
_SENT = re.compile(r"(\b(?:bearer|basic)\s+)(?!(?:token|auth)\w*\b)[\w.~+/=-]{6,}", re.IGNORECASE)
"""What a header Authorization has."""
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----).*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
"""A key as PEM has it, as far as the text has it."""
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
# With = between, the name must be a certain one: a column `key` is compared with all kinds of texts.
_CERTAIN_NAME = rf"[`'\"]?[\w.-]*(?:\bheader\.|{_CERTAIN.pattern.replace('$', '')})[\w.-]*[`'\"]?"
_OPTION = re.compile(
    rf"(?<![\w.-])(?P<name>(?:SET\s+{_QUOTED_NAME}\s*=|{_CERTAIN_NAME}\s*=|{_QUOTED_NAME}(?=\s))\s*)(?P<value>{_QUOTED})",
    re.IGNORECASE,
)
_SETTING = re.compile(rf"(?P<name>\bSET\s+{_QUOTED_NAME}\s*=\s*)(?P<value>[^\s'\";][^;\n]*)", re.IGNORECASE)
"""A setting whose value stands in no quotes."""


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
    """Tell whether an option with that value must not be shown, be it for its name alone."""
    return is_secret(option) or holds_secret(option, value)


def lets_in(option: str, value: str) -> bool:
    """Tell whether what is sent to a web address lets the sender in: a part of the address itself, or a header.

    What looks drawn at random is taken for that: letters and digits together, ten or more of them.

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
    """Tell whether a text itself says that it has a password, token or key; what is empty in it is none.

    >>> spells_secret("postgresql://u:x@h/d"), spells_secret("postgresql://u:@h/d"), spells_secret("Bearer x")
    (True, False, True)
    """
    assigned = any(found[2].strip("\"'") for found in _ASSIGNED.finditer(value))
    return bool(assigned or _IN_URL.search(value) or _SCHEME.match(value))


def secret_values(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of options that must not be shown, and what they in turn name as a password."""
    options = list(options)
    named = [found[1].strip("\"'") for _, value in options for found in _ASSIGNED_VALUE.finditer(value)]
    named += [found[1] for _, value in options for found in _IN_URL.finditer(value)]
    return [value for name, value in options if is_secret(name)] + named


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace by *** the secret values, what follows a name such as `password=`, tokens behind `Bearer` or `Basic`,
    passwords in URLs and private keys.

    >>> redact("Authorization: Bearer eyJhbGciOi.x; https://u:pw@h/x")
    'Authorization: Bearer ***; https://u:***@h/x'
    """
    for secret in filter(None, secrets):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    text = _SENT.sub(r"\1***", _PRIVATE_KEY.sub(r"\1***\2", text))
    return _ASSIGNED.sub(r"\1***", _without_url_passwords(text))


def _without_url_passwords(text: str) -> str:
    return _IN_URL.sub(lambda found: f"{found[0][: found.start(1) - found.start()]}***@", text)


def without_secrets(value: str) -> str:
    """Return the value of an option with stars in place of the passwords, tokens and keys that it spells.

    >>> without_secrets("jdbc:postgresql://h/d?user=u&password=x&ssl=true"), without_secrets("https://u:x@h/y")
    ('jdbc:postgresql://h/d?user=u&password=***&ssl=true', 'https://u:***@h/y')
    >>> without_secrets("jdbc:oracle:thin:scott/tiger@//h:1521/d"), without_secrets("Bearer x")
    ('jdbc:oracle:thin:scott/***@//h:1521/d', '***')
    """
    if _SCHEME.fullmatch(value):
        return "***"
    return redact(value)


def without_password(location: str) -> str:
    """Return the address of a database as it may be shown.

    >>> without_password("postgresql://u:x@h/d"), without_password("postgresql://u@h/d?password=x")
    ('postgresql://u:***@h/d', 'postgresql://u@h/d?password=***')
    """
    return redact(re.sub(r"(://[^/@:]*):[^@]*@", r"\1:***@", location))


def without_secret_options(statement: str) -> str:
    """Return a statement with stars in place of the values of secret options, as many as they have characters.

    >>> without_secret_options("CREATE SINK s USING sqlite OPTIONS (url 'x://u:pw@h', token 't')")
    "CREATE SINK s USING sqlite OPTIONS (url '**********', token '*')"
    """

    def starred(text: str) -> str:
        return re.sub(r"[^\n]", "*", text)

    def hidden(text: str) -> str:
        end = text[-1] if len(text) > 1 and text[-1] == text[0] else ""
        return text[0] + starred(text[1 : len(text) - len(end)]) + end

    def address(found: re.Match) -> str:
        return found[1] + (hidden(found[2]) if lets_in("url", found[2][1:-1]) else found[2])

    def literal(found: re.Match) -> str:
        return hidden(found[0]) if spells_secret(found[0][1:-1]) else found[0]

    named = _OPTION.sub(lambda found: found["name"] + hidden(found["value"]), statement)
    named = _SETTING.sub(lambda found: found["name"] + starred(found["value"]), named)
    return _TEXT.sub(literal, _ADDRESS.sub(address, named))
