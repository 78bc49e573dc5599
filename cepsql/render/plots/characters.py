"""A series as a drawing of characters, for terminals."""

import datetime
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from cepsql.errors import InterfaceError
from cepsql.render.plots.matches import VARIABLE, Partition, match_count, partitions

_UNMATCHED = "·"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def draw_characters(rows: pa.Table, x: str, y: str, keys: Sequence[str], width: int, height: int) -> str:
    """Draw y over x for the partition with the most matches: each row as the letter of its variable, or as a dot.

    rows:  the rows of all partitions, with the columns VARIABLE and MATCH.
    width, height: the size of the drawing in characters, with its axes.
    Raises InterfaceError for columns of other types than numbers and times.
    """
    sorted_partitions = sorted(partitions(rows, x, keys), key=match_count, reverse=True)
    if not sorted_partitions:
        return "there are no rows to draw"
    key, series = sorted_partitions[0]
    points = [(_number(row[x], x), _number(row[y], y), row[VARIABLE]) for row in series if row[y] is not None]
    if not points:
        return f"{y} is NULL in all rows"
    letters = _letters([variable for *_, variable in points if variable])
    low, high = _extent([value for _, value, _ in points])
    labels = [_label(high), _label(low)]
    margin = max(map(len, labels)) + 2
    columns, lines = max(10, width - margin), max(4, height - 4)
    cells = [[" "] * columns for _ in range(lines)]
    begin, end = _extent([at for at, *_ in points])
    for at, value, variable in points:
        column = round((at - begin) / (end - begin) * (columns - 1))
        line = lines - 1 - round((value - low) / (high - low) * (lines - 1))
        if variable or cells[line][column] == " ":
            cells[line][column] = letters[variable] if variable else _UNMATCHED
    sides = {0: labels[0], lines - 1: labels[1]}
    drawn = [f"{sides.get(i, ''):>{margin - 2}} ┤{''.join(cell).rstrip()}" for i, cell in enumerate(cells)]
    first, last = _written(series[0][x]), _written(series[-1][x])
    gap = " " * max(1, columns - len(first) - len(last))
    return "\n".join(
        [
            f"{y} over {x}{_title(keys, key, sorted_partitions[0], len(sorted_partitions))}",
            *drawn,
            f"{'':>{margin - 2}} └{'─' * columns}",
            f"{'':>{margin}}{first}{gap}{last}",
            *_legend(letters),
        ]
    )


def _title(keys: Sequence[str], key: tuple, partition: Partition, count: int) -> str:
    named = ", ".join(f"{name} = {value}" for name, value in zip(keys, key, strict=True))
    matches = match_count(partition)
    said = [named] if named else []
    said += [f"{matches} match{'' if matches == 1 else 'es'}"] if matches else []
    said += [f"the first of {count} partitions"] if count > 1 else []
    return f" · {', '.join(said)}" if said else ""


def _letters(variables: Sequence[str]) -> dict[str, str]:
    """Assign each variable a letter, its first one if that is free."""
    letters: dict[str, str] = {}
    for name in dict.fromkeys(variables):
        wanted = (*name.upper(), *_LETTERS)
        letters[name] = next((letter for letter in wanted if letter.isalnum() and letter not in letters.values()), "#")
    return letters


def _legend(letters: dict[str, str]) -> list[str]:
    said = [name if name == letter else f"{letter} {name}" for name, letter in letters.items()]
    return [", ".join([*said, f"{_UNMATCHED} in no match"])] if said else []


def _extent(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _label(number: float) -> str:
    return f"{number:,.6g}"


def _written(value: object) -> str:
    """Return the label of an axis end; times as results show them, without their offset."""
    return str(value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value)


def _number(value: object, column: str) -> float:
    match value:
        case bool() | str():
            pass
        case int() | float() | Decimal():
            return float(value)
        case datetime.datetime():
            return value.timestamp()
        case datetime.date():
            return float(value.toordinal())
    raise InterfaceError(f"{column} is neither a number nor a time, and cannot be drawn")
