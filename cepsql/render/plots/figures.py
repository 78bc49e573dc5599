"""What the drawings share."""

from typing import TYPE_CHECKING

from cepsql.errors import InterfaceError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 10.0


def stacked(count: int, height: float) -> "tuple[Figure, list[Axes]]":
    """Make a figure of drawings below each other, with one axis of x; heights are in inches.

    Raises InterfaceError where matplotlib is not installed.
    """
    try:
        from cepsql.render.plots.drawing import Drawing
    except ImportError as error:
        raise InterfaceError("matplotlib is not installed", hint="pip install 'cepsql[plot]'") from error
    figure = Drawing(figsize=(_WIDTH, count * height + 0.8), layout="constrained")
    drawings = list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
    for axes in drawings:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, drawings
