"""Plots of matches on their series of rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepsql.render.plots.figures import stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VARIABLE, MATCH = "cepsql_variable", "cepsql_match"
"""Columns with the variable of a row, and the number of its match in its partition; NULL outside matches."""

_COLORS = ("#d1495b", "#00798c", "#edae49", "#66a182", "#8d5a97", "#2e4057", "#e07a5f", "#3d84a8")
_HEIGHT = 2.4

Partition = tuple[tuple, list[dict[str, Any]]]


def draw_matches(rows: pa.Table, x: str, y: str, keys: Sequence[str], most: int = 6) -> "Figure":
    """Draw y over x for each partition, with a line through the rows of each match and a colour for each variable.

    rows: the rows of all partitions, with the columns VARIABLE and MATCH.
    most: how many partitions are drawn: those with the most matches.
    Raises InterfaceError if matplotlib is not installed.
    """
    all_partitions = partitions(rows, x, keys)
    shown = sorted(all_partitions, key=match_count, reverse=True)[:most]
    variables = list(dict.fromkeys(row[VARIABLE] for _, series in shown for row in series if row[VARIABLE]))
    colors = {variable: _COLORS[i % len(_COLORS)] for i, variable in enumerate(variables)}
    figure, plots = stacked(max(1, len(shown)), _HEIGHT)
    for axes, (key, series) in zip(plots, shown, strict=False):
        _draw(axes, series, x, y, colors)
        named = ", ".join(f"{name} = {value}" for name, value in zip(keys, key, strict=True))
        axes.set_title(named, fontsize=10, loc="left")
    plots[-1].set_xlabel(x)
    if len(shown) < len(all_partitions):
        figure.suptitle(f"{len(shown)} of {len(all_partitions)} partitions", fontsize=10)
    if variables:
        labelled = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in plots]
        handles = {text: handle for pairs in labelled for handle, text in pairs}
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=len(handles), frameon=False)
    return figure


def partitions(rows: pa.Table, x: str, keys: Sequence[str]) -> list[Partition]:
    """Return the rows whose x is not NULL, sorted by it, grouped by key."""
    rows_by_key: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        if row[x] is not None:
            rows_by_key.setdefault(tuple(row[key] for key in keys), []).append(row)
    for series in rows_by_key.values():
        series.sort(key=lambda row: row[x])
    return list(rows_by_key.items())


def match_count(partition: Partition) -> int:
    """Return the number of matches of a partition."""
    return len({row[MATCH] for row in partition[1] if row[MATCH] is not None})


def _draw(axes: "Axes", rows: list[dict[str, Any]], x: str, y: str, colors: dict[str, str]) -> None:
    axes.plot([row[x] for row in rows], [row[y] for row in rows], color="#b8b8b8", linewidth=1, zorder=1)
    matches: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if row[MATCH] is not None:
            matches.setdefault(row[MATCH], []).append(row)
    for match in matches.values():
        axes.plot([row[x] for row in match], [row[y] for row in match], color="#404040", linewidth=1.6, zorder=2)
    for variable, color in colors.items():
        marked = [row for row in rows if row[VARIABLE] == variable]
        places = [row[x] for row in marked], [row[y] for row in marked]
        axes.scatter(*places, color=color, s=26, zorder=3, label=variable)
    axes.set_ylabel(y)
