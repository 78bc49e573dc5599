"""The text of what a statement says that is no query."""

from collections.abc import Sequence

import pyarrow as pa

from cepsql.render import renderer


def answer_text(columns: Sequence[str], rows: Sequence[Sequence[object]], layout: str, message: str, text: str) -> str:
    """Write it as the shell does; see `cepsql.render.answer.Answer`."""
    lines: list[str] = []
    if layout != "table":
        lines += [str(line) for (line,) in rows]
    elif columns:
        values = [[None if row[i] is None else str(row[i]) for row in rows] for i in range(len(columns))]
        table = pa.table([pa.array(column, pa.string()) for column in values], list(columns))
        form = renderer("table", [(name, "string") for name in columns], "UTC", table)
        lines += [*form.header, *form.rows(table)]
    return "\n".join([*lines, *(part for part in (text, message) if part)])
