"""Rows as bytes, for packets and states: an Arrow IPC stream with whole numbers in as few bytes as they need."""

import pyarrow as pa
import pyarrow.compute as pc

_LOW, _TYPE = b"low", b"type"
_TYPES = {str(type_): type_ for type_ in (pa.int64(), pa.int32())}
_NARROW = (pa.uint8(), pa.uint16(), pa.uint32())


def write_rows(batch: pa.RecordBatch) -> pa.Buffer:
    """Return the rows as bytes, none for no rows."""
    sink = pa.BufferOutputStream()
    if batch.num_rows:
        rows = narrow(batch)
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
    return sink.getvalue()


def read_rows(data: pa.Buffer) -> pa.Table | None:
    """Return the rows that `write_rows` took, None if there were none; they share the memory of `data`."""
    return widen(pa.ipc.open_stream(data).read_all()) if data.size else None


def narrow(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with BIGINT and INT columns as the distance from their least value, if that takes fewer bytes.

    The metadata of such a field tell the least value and the type, from which `widen` restores the column.
    """
    pairs = [_narrowed(field, column) for field, column in zip(batch.schema, batch.columns, strict=True)]
    return pa.RecordBatch.from_arrays([column for _, column in pairs], schema=pa.schema([field for field, _ in pairs]))


def widen(table: pa.Table) -> pa.Table:
    """Return the table that `narrow` took; the bytes of columns that it left alone are shared."""
    for i, field in enumerate(table.schema):
        if field.metadata and _LOW in field.metadata:
            type_ = _TYPES[field.metadata[_TYPE].decode()]
            low = pa.scalar(int(field.metadata[_LOW]), pa.int64())
            column = pc.add(table.column(i).cast(pa.int64()), low).cast(type_)
            table = table.set_column(i, pa.field(field.name, type_), column)
    return table


def _narrowed(field: pa.Field, column: pa.Array) -> tuple[pa.Field, pa.Array]:
    if str(column.type) not in _TYPES:
        return field, column
    bounds = pc.min_max(column).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is None:
        return field, column
    fitting = (t for t in _NARROW if high - low < 2**t.bit_width and t.bit_width < column.type.bit_width)
    type_ = next(fitting, None)
    if type_ is None:
        return field, column
    distance = pc.subtract(column.cast(pa.int64()), pa.scalar(low, pa.int64())).cast(type_)
    metadata = {_LOW: str(low).encode(), _TYPE: str(column.type).encode()}
    return pa.field(field.name, type_, metadata=metadata), distance
