"""Arrow columns in the plain form that the ordered stage works on."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError

MANY_ROWS = 2**20
"""From so many rows on it is worth some milliseconds that memory is not taken twice."""


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with plain types, so that rows of any task, batch and session can be laid together.

    Every field may be NULL and carries no metadata, time zones are UTC, strings and binaries have 32-bit offsets.
    """
    return batch.cast(plain_schema(batch.schema))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that `plain_batch` gives a batch of a schema."""
    return pa.schema([pa.field(f.name, _plain(f.type)) for f in schema])


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array, copied only if it is in pieces.

    Raises OperationalError where strings or lists outgrow one array (2 GiB).
    """
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        raise OperationalError("a bucket holds more than 2 GiB in one column", hint="use more buckets")
    return whole


def compact(table: pa.Table) -> pa.Table:
    """Return the table with one chunk a column."""
    return pa.Table.from_arrays([one_chunk(c) for c in table.columns], schema=table.schema)


def stack(tables: list[pa.Table]) -> pa.Table:
    """Lay tables of the same columns one after another, one chunk a column."""
    return compact(pa.concat_tables(tables))


def stack_freely(tables: list[pa.Table]) -> pa.Table:
    """Do as `stack` does, column by column, and empty the list, so that no more than one is there twice."""
    whole, arrays = pa.concat_tables(tables), []
    tables.clear()
    columns, schema = whole.columns, whole.schema
    del whole
    while columns:
        arrays.append(one_chunk(columns.pop(0)))
        _give_back(len(arrays[-1]))
    return pa.Table.from_arrays(arrays, schema=schema)


def check_types(stored: pa.Schema, arrived: pa.Schema) -> None:
    """Raise OperationalError if a column that both have came with another type than it is stored with."""
    for field in stored:
        if field.name in arrived.names and arrived.field(field.name).type != field.type:
            raise OperationalError(
                f"a column of type {field.type} in the stored state comes as {arrived.field(field.name).type} now",
                hint="start with a new checkpoint and replay the input",
            )


def take_rows(table: pa.Table, places: np.ndarray) -> pa.Table:
    """Return the rows at these positions, in this order, of a table with one chunk a column."""
    if _are_all(places, table.num_rows):
        return table
    # Table.take with its checks takes twice as long.
    chosen = pa.array(places)
    return pa.Table.from_arrays([c.chunk(0).take(chosen) for c in table.columns], schema=table.schema)


def take_freely(columns: list[pa.Array], places: np.ndarray) -> list[pa.Array]:
    """Take these positions of one column after another out of the list, so that no more than one is there twice."""
    if columns and _are_all(places, len(columns[0])):
        return columns
    chosen, taken = pa.array(places), []
    while columns:
        taken.append(columns.pop(0).take(chosen))
        _give_back(len(places))
    return taken


def _are_all(places: np.ndarray, rows: int) -> bool:
    """Tell whether positions are those of all rows, in their order."""
    return len(places) == rows and rows > 0 and places[0] == 0 and bool((np.diff(places) == 1).all())


def _give_back(rows: int) -> None:
    """Give memory that Arrow keeps for later back, where a column of so many rows was freed."""
    if rows >= MANY_ROWS:
        pa.default_memory_pool().release_unused()


def integers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a column of integers without NULL as a NumPy array."""
    return (one_chunk(column) if isinstance(column, pa.ChunkedArray) else column).to_numpy(zero_copy_only=False)


def decimal_halves(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the low and the high 64 bits (uint64, int64) of decimals in units of their last digit; 0 for NULL."""
    exact = column.cast(pa.decimal128(38, column.type.scale)).fill_null(0)
    halves = np.frombuffer(exact.buffers()[1], np.int64).reshape(-1, 2)[exact.offset : exact.offset + len(exact)]
    return halves[:, 0].view(np.uint64), halves[:, 1]


def canonical(column: pa.Array) -> pa.Array:
    """Return the column with one zero and one NaN, as Spark compares them; other types are returned as they are."""
    if not pa.types.is_floating(column.type):
        return column
    positive = pc.add(column, pa.scalar(0.0, column.type))
    return pc.if_else(pc.is_nan(positive), pa.scalar(np.nan, column.type), positive)


def _plain(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return _plain(type_.value_type)
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    if pa.types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _plain(f.type)) for f in type_])
    return type_


def flags(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a BOOLEAN column as a NumPy array in which NULL is false."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), bool)


def marked(batch: pa.RecordBatch, name: str) -> np.ndarray:
    """Return which rows a BOOLEAN column that the batch may have is true in."""
    return flags(batch[name]) if name in batch.schema.names else np.zeros(batch.num_rows, bool)


def count_flags(flags: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return how many rows of each partition flags mark; `starts` as of `cepsql.ordered.operator.OrderedRows`."""
    before = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
    return before[starts[1:]] - before[starts[:-1]]
