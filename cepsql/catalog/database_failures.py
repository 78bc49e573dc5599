"""What databases say when something fails."""


def first_line(failure: BaseException) -> str:
    """Return what a failure says, in a line."""
    failure = getattr(failure, "orig", None) or failure
    # What a server of PostgreSQL says, without the place in a statement that the user does not know.
    if said := getattr(getattr(failure, "diag", None), "message_primary", None):
        return said
    return next((line.strip() for line in str(failure).splitlines() if line.strip()), type(failure).__name__)
