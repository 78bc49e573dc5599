"""The versions of a view, for a reader that reads batch by batch: its changes, and from when on each is valid."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepsql.catalog.view_store import OLDEST, UNTIL, VERSION, ViewSource
from cepsql.errors import OperationalError
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import parse_type
from cepsql.views.added_rows import complete_from, removed_rows, retained
from cepsql.views.change_feed import Point, changes_between
from cepsql.views.journal import GONE, PLACE, Journal, JournalBatch
from cepsql.views.snapshot import Wanted, position_in, read_view, store_transaction
from cepsql.views.stored_values import cell_table
from cepsql.views.versions import rows_at

REACHED = "cepsql_reached"
"""The column with the watermark of the view, in a last row that is not a version."""

_FIRST_TIME = -62_135_596_800_000_000
"""The first microsecond of the year 1: batches without a watermark are before all others."""


def versions_between(view: ViewSource, after: Point | None, until: Point, first: int) -> pa.Table:
    """Return the versions of the batches after one up to another, in order, as `changes_between` returns changes; with
    VERSION, if the view has that column, and REACHED.

    after: None: the rows of the view as of the batch `first` come before them.
    Raises OperationalError as `changes_between`.
    """
    begin, parts = after, []
    if begin is None:
        begin = Point(until.checkpoint, first)
        parts.append(changes_between(view, None, begin))
    parts.append(changes_between(view, begin, until))
    rows = pa.concat_tables(parts)
    with store_transaction(view) as connection:
        journal_batches = Journal(connection, view.name, view.schema).batches(begin.batch)
    batches = [batch for batch in journal_batches if batch.batch <= until.batch]
    if not batches or batches[-1].batch != until.batch:
        raise OperationalError(f"the versions of view {view.name} since batch {begin.batch} are not kept any more")
    kinds = {column.name: column.type for column in view.columns}
    if VERSION in kinds:
        times = pa.array(_times(rows[PLACE].to_numpy(), batches), pa.timestamp("us"))
        kind = arrow_type(parse_type(kinds[VERSION]))
        rows = rows.append_column(VERSION, times.cast(pa.int64()).cast(kind))
    rows = rows.append_column(REACHED, pa.nulls(rows.num_rows, pa.int64()))
    reached = batches[-1].watermark
    return rows if reached is None else pa.concat_tables([rows, _row_of(rows.schema, REACHED, reached)])


def versions_kept(view: ViewSource) -> pa.Table:
    """Return the kept versions of a view, as `cepsql.catalog.view_store.versions_at_rest` describes them.

    Raises OperationalError if the store does not answer, or the view has never run.
    """
    names = tuple(column.name for column in view.view.columns)
    stored = replace(view, name=view.view.name, columns=view.view.columns)
    oldest = age = None
    with store_transaction(stored) as connection:
        if view.view.adds and view.view.event_time is not None:
            rows = read_view(connection, Wanted(stored, names)).rows
            if (age := retained(stored)) is not None:
                rows = pa.concat_tables([rows, removed_rows(connection, Wanted(stored, names))])
                oldest = complete_from(connection, stored)
            rows = rows.filter(rows[view.view.event_time].is_valid())
            rows = rows.sort_by(view.view.event_time)
            times = rows[view.view.event_time].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
            rows = rows.append_column(GONE, pa.array([False] * rows.num_rows, pa.bool_()))
        else:
            position_in(connection, stored)
            journal = Journal(connection, stored.name, stored.schema)
            first = journal.first()
            if first is None:
                raise OperationalError(f"view {stored.name} keeps no versions")
            batches = journal.batches(first.batch)
            there = rows_at(connection, Wanted(stored, names), first.last)
            there = there.append_column(PLACE, pa.array([first.last] * there.num_rows, pa.int64()))
            there = there.append_column(GONE, pa.array([False] * there.num_rows, pa.bool_()))
            since = journal.rows(first.last, batches[-1].last, names, added=view.view.adds).all()
            changes = cell_table(since, [*stored.typed(names), (PLACE, "bigint"), (GONE, "boolean")])
            rows = pa.concat_tables([there, changes])
            times = _times(rows[PLACE].to_numpy(), batches).tolist()
            oldest = first.watermark
    ends = _ends(list(zip(*(rows[name].to_pylist() for name in view.view.key), strict=True)), times, age)
    nothing: list[int | None] = [None] * rows.num_rows
    kinds = {column.name: arrow_type(parse_type(column.type)) for column in view.columns}
    versions = rows.select(list(names))
    for name, micros in ((VERSION, times), (UNTIL, ends), (OLDEST, nothing)):
        versions = versions.append_column(name, pa.array(micros, pa.int64()).cast(kinds[name]))
    versions = versions.filter(pa.array([not gone for gone in rows[GONE].to_pylist()], pa.bool_()))
    return pa.concat_tables([versions, _row_of(versions.schema, OLDEST, oldest)])


def _ends(keys: Sequence[tuple], times: Sequence[int], age: int | None) -> list[int | None]:
    """Return for each version, in order, the time of the next one of its key, None without one.

    age: a version ends earlier, with the first one of any key that is later by more than this.
    """
    following: dict[tuple, int] = {}
    ends: list[int | None] = []
    for key, time in zip(reversed(keys), reversed(times), strict=True):
        ends.append(following.get(key))
        following[key] = time
    ends.reverse()
    if age is None:
        return ends
    removing = np.searchsorted(times, np.array(times, np.int64) + age, side="right")
    removed = [times[place] if place < len(times) else None for place in removing]
    return [min((one for one in pair if one is not None), default=None) for pair in zip(ends, removed, strict=True)]


def _times(places: np.ndarray, batches: Sequence[JournalBatch]) -> np.ndarray:
    """Return the watermark of the batch of each place; rows that were there at the beginning have place 0."""
    watermarks = [_FIRST_TIME if batch.watermark is None else batch.watermark for batch in batches]
    batch_places = np.searchsorted([batch.last for batch in batches], places, side="left")
    return np.array(watermarks, np.int64)[batch_places]


def _row_of(schema: pa.Schema, name: str, micros: int | None) -> pa.Table:
    """Return a row that is not a version: a time in one column and NULL in the others."""
    time = pa.array([micros], pa.int64())
    columns = [time.cast(field.type) if field.name == name else pa.nulls(1, field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)
