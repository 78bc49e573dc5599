"""Which rows of two streams are late, by a plain loop."""

from cepsql.ordered.row_layout import BEGINNING


def on_time(batches, delays):
    """Return the rows of each stream that are not late, of micro-batches of the rows of both."""
    greatest, bound, used = [BEGINNING] * 2, BEGINNING, ([], [])
    for sides in batches:
        for side, rows in enumerate(sides):
            used[side].extend(row for row in rows if row["t"] > bound)
            greatest[side] = max([greatest[side], *(row["t"] for row in rows)])
        if BEGINNING not in greatest:
            bound = max(bound, min(g - d for g, d in zip(greatest, delays, strict=True)))
    return used
