"""What is known of rows without reading them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cepsql.catalog import ColumnDefinition, Watermark

CHANGE, IDENTITY = "__change", "__identity"
"""Hidden columns of changes: the TINYINT `cepsql.ordered.operator.Change` of a row, and a text for the row of the table
that it changes."""

ORIGIN, PLACE = "__origin", "__row"
"""Where a row comes from and its place there, as `cepsql.ordered.arrival.ORIGIN` and `PLACE`, of sources that have an
order; without PLACE the rows of each task are in their order."""

DELETED = "__deleted"
"""A BOOLEAN column of a stream with a PRIMARY KEY: its format says that the row with this key is gone."""

CAME = "__came"
"""A BIGINT column of versions whose order is known: those of one time follow one another by it."""


@dataclass(frozen=True)
class Properties:
    """What is known of the rows of a relation or of a node of a plan.

    name:      what messages call it.
    streaming: they never end.
    watermark: their event time, and how long (microseconds) rows may come after later ones; None without event time.
    merged:    they are those of several streams (UNION ALL), each with a delay of its own.
    ordered:   they come from an ordered operator over a stream, which can tell how far it is by markers.
    changes:   they add rows to a table and take rows away, as the columns IDENTITY and CHANGE say.
    others:    further event times by which the rows can be followed in place of `watermark`.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    streaming: bool
    watermark: Watermark | None = None
    ordered: bool = False
    merged: bool = False
    changes: bool = False
    others: tuple[Watermark, ...] = ()

    @property
    def offers(self) -> tuple[Watermark, ...]:
        """All event times by which the rows can be followed, the one by which they are first."""
        return self.others if self.watermark is None else (self.watermark, *self.others)

    @property
    def event_time(self) -> Watermark:
        """The watermark of rows that have one; whatever an ordered operator reads from a stream does."""
        assert self.watermark is not None
        return self.watermark

    @property
    def event_time_type(self) -> str:
        """The type of the event time of rows that have one."""
        time = self.event_time.column.lower()
        return next(column.type for column in self.columns if column.name.lower() == time)


def order_hint(offers: Sequence[Watermark]) -> str:
    """Return by what a reader can order rows that have these event times."""
    first, *others = dict.fromkeys(offer.column for offer in offers)
    if not others:
        return f"ORDER BY {first}, which is the event time of the stream"
    names = f"{', '.join([first, *others[:-1]])} or {others[-1]}"
    return f"ORDER BY {names}: these are the event times of the rows"
