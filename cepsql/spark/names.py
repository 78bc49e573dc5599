"""Names in Spark SQL."""


def quoted(name: str) -> str:
    """Return a name as a Spark SQL identifier."""
    return f"`{name.replace('`', '``')}`"
