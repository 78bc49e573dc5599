"""The pauses before a failed query is started again."""

SHORTEST, LONGEST = 1.0, 60.0


def pause(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row: each twice as long as the one before, up to LONGEST.

    >>> [pause(n) for n in (1, 2, 3, 7, 1000)]
    [1.0, 2.0, 4.0, 60.0, 60.0]
    """
    return min(SHORTEST * 2 ** min(failures - 1, 30), LONGEST)
