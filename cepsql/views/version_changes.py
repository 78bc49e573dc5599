"""The versions of a view, for those who read them from batch to batch: its changes, and from when on each holds."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.catalog.view_store import VERSION, ViewSource
from cepsql.errors import OperationalError
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import parse_type
from cepsql.views.change_feed import Point, changes_between
from cepsql.views.journal import PLACE, Journal, JournalBatch
from cepsql.views.snapshot import store_transaction

REACHED = "cepsql_reached"
"""The column of versions that only the last row has, which is none: how far the view is, in event time."""

_FIRST_TIME = -62_135_596_800_000_000
"""The first microsecond of the year 1: batches of no time are before all others."""


def versions_between(view: ViewSource, after: Point | None, until: Point, first: int) -> pa.Table:
    """Return the versions of the batches after one up to another, in order, as `changes_between` returns changes; with
    VERSION, where that is a column of the view's, and REACHED.

    after: None: what the view had with the batch `first` comes before them.
    Raises OperationalError as `changes_between`.
    """
    begin, parts = after, []
    if begin is None:
        begin = Point(until.checkpoint, first)
        parts.append(changes_between(view, None, begin))
    parts.append(changes_between(view, begin, until))
    rows = pa.concat_tables(parts)
    with store_transaction(view) as connection:
        known = Journal(connection, view.name, view.schema).batches(begin.batch)
    batches = [batch for batch in known if batch.batch <= until.batch]
    if not batches or batches[-1].batch != until.batch:
        raise OperationalError(f"the versions of view {view.name} since batch {begin.batch} are not kept any more")
    kinds = {column.name: column.type for column in view.columns}
    if VERSION in kinds:
        times = pa.array(_times(rows[PLACE].to_numpy(), batches), pa.timestamp("us"))
        kind = arrow_type(parse_type(kinds[VERSION]))
        rows = rows.append_column(VERSION, times.cast(pa.int64()).cast(kind))
    rows = rows.append_column(REACHED, pa.nulls(rows.num_rows, pa.int64()))
    reached = batches[-1].watermark
    return rows if reached is None else pa.concat_tables([rows, _punctuation(rows.schema, reached)])


def _times(places: np.ndarray, batches: Sequence[JournalBatch]) -> np.ndarray:
    """Return the watermark of the batch of each place; rows that were there at the beginning have place 0."""
    watermarks = [_FIRST_TIME if batch.watermark is None else batch.watermark for batch in batches]
    found = np.searchsorted([batch.last for batch in batches], places, side="left")
    return np.array(watermarks, np.int64)[found]


def _punctuation(schema: pa.Schema, reached: int) -> pa.Table:
    columns = [pa.array([reached if field.name == REACHED else None], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)
