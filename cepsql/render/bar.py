"""A bar that fills."""

_WIDTH = 20


def bar(share: float) -> str:
    """Draw how much of something is done, from 0 to 1.

    >>> bar(0.5)
    '[##########..........]'
    """
    filled = round(_WIDTH * min(max(share, 0.0), 1.0))
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"
