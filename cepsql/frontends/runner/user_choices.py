"""What the user chose for the statements to come."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class UserChoices:
    """How statements are executed and their results are written.

    args:    values of the named parameters (`:name`).
    timeout: seconds after which a streaming SELECT ends, None for never.
    drain:   end a streaming SELECT once all input that is there is processed and decided.
    limit:   greatest number of rows to write of each result.
    max_rows: greatest number of rows to write of a bounded result on a terminal, None for all.
    checkpoint: folder of a streaming SELECT from which it goes on, None for none.
    footer:  write the number of rows and the time after each bounded result.
    pager:   the command that shows bounded results which do not fit the screen; empty for none.
    live:    columns by which a stream is a table that refreshes, the last row of each key in it; empty for all rows.
    """

    format: str = "table"
    args: Mapping[str, object] = field(default_factory=dict)
    timeout: float | None = None
    drain: bool = False
    limit: int | None = None
    max_rows: int | None = 1000
    checkpoint: str | None = None
    footer: bool = False
    pager: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
