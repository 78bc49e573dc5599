"""A figure that notebooks show."""

import io

from matplotlib.figure import Figure


class Drawing(Figure):
    """A figure that a notebook shows by itself; others it shows only once somebody has imported pyplot."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()
