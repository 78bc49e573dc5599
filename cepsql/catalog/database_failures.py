"""The messages of failing databases."""


def first_line(failure: BaseException) -> str:
    """Return the message of a failure in one line."""
    failure = getattr(failure, "orig", None) or failure
    # The message of PostgreSQL, without its position in a statement that the user does not know.
    if said := getattr(getattr(failure, "diag", None), "message_primary", None):
        return said
    return next((line.strip() for line in str(failure).splitlines() if line.strip()), type(failure).__name__)
