"""Rows that a standing query does not use, whole: late, malformed, without an event time, too far ahead."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from cepsql.ordered.plain_columns import marked, stack
from cepsql.ordered.row_layout import REPEATED

WHOLE = "whole"
"""A struct column of packed rows that is there only for rows that are not used: `record` STRING, the text that was
read where that is known, then all columns of the stream."""

LATE, MALFORMED, NO_TIME, AHEAD = "late", "malformed", "no event time", "ahead"
"""Why a row is not used."""

REJECTED_FIELDS = (pa.field("reason", pa.string()), pa.field("watermark", pa.int64()))
"""What stands before `whole` in rejected rows; the watermark is the bound that a late row was at or below."""


class Packed(Protocol):
    """What is asked of a packet, `cepsql.ordered.packet.Packet`."""

    @property
    def rows(self) -> pa.Table | None: ...

    @property
    def aside(self) -> pa.Table | None: ...


def set_aside(whole: pa.Array, malformed: np.ndarray, ahead: np.ndarray) -> pa.RecordBatch:
    """Return rows that can have no place in the order as rejected rows: malformed ones, those too far ahead, and all
    others for having no time."""
    reasons = np.where(malformed, MALFORMED, np.where(ahead, AHEAD, NO_TIME))
    return _rejected(pa.array(reasons.tolist(), pa.string()), None, whole)


def rejected_rows(packets: Sequence[Packed], bound: int, until: Callable[[pa.Table], np.ndarray]) -> pa.Table | None:
    """Return the rows of packets that are not used, those that count until `bound` at most among them; None if there
    are none.

    Columns: REJECTED_FIELDS and `whole`, one chunk each. Packets whose rows have no `whole` give nothing.
    """
    tables = [packet.aside for packet in packets if packet.aside is not None]
    for packet in packets:
        if packet.rows is not None and WHOLE in packet.rows.column_names:
            late_ones = (until(packet.rows) <= bound) & ~marked(packet.rows, REPEATED)
            late = packet.rows[WHOLE].filter(pa.array(late_ones))
            parts = [_rejected(pa.repeat(LATE, len(chunk)), bound, chunk) for chunk in late.chunks if len(chunk)]
            tables += [pa.Table.from_batches([part]) for part in parts]
    return stack(tables) if tables else None


def _rejected(reasons: pa.Array, watermark: int | None, whole: pa.Array) -> pa.RecordBatch:
    schema = pa.schema([*REJECTED_FIELDS, pa.field(WHOLE, whole.type)])
    watermarks = pa.repeat(pa.scalar(watermark, pa.int64()), len(reasons))
    return pa.RecordBatch.from_arrays([reasons, watermarks, whole], schema=schema)
