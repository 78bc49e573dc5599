"""Numbers with their nouns."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "batch", "batches")
    ('1 row', '2 rows', '0 batches')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
