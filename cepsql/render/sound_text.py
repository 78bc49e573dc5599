"""Text that is UTF-8 in every place, whatever bytes Spark let pass."""

import pyarrow as pa

from cepsql.render.far_times import python_values


def sound_text(rows: pa.Table) -> pa.Table:
    """Return rows whose texts are UTF-8 in every place; bytes that are none become U+FFFD.

    Spark's STRING holds any bytes, as CAST of a BINARY gives them.
    """
    for number, field in enumerate(rows.schema):
        if not _is_sound(rows.column(number)):
            blind = python_values(rows.column(number).cast(_blind(field.type)))
            values = [_sound(value, field.type) for value in blind]
            rows = rows.set_column(number, field, pa.chunked_array([pa.array(values, field.type)]))
    return rows


def _is_sound(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _blind(kind: pa.DataType) -> pa.DataType:
    """Return the type with bytes in place of text."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _blind(field.type), field.nullable) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_blind(kind.key_type), _blind(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _blind(kind.value_type), kind.value_field.nullable))
    return kind


def _sound(value, kind: pa.DataType):
    if value is None:
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value.decode("utf-8", "replace")
    if pa.types.is_struct(kind):
        return {field.name: _sound(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(_sound(key, kind.key_type), _sound(item, kind.item_type)) for key, item in value]
    if pa.types.is_list(kind):
        return [_sound(item, kind.value_type) for item in value]
    return value
