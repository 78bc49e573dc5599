"""Functions of texts on Arrow columns, with the results of the functions in `cepsql.scalar.strings`."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.column_values import Value, all_rows, one_for_all
from cepsql.scalar.expressions import Apply, Constant, Session
from cepsql.scalar.regexes import supported_regex
from cepsql.scalar.strings import STRING_FUNCTIONS
from cepsql.scalar.types import STRING

_TRIMS = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}


def of_texts(node: Apply) -> bool:
    """Tell whether all arguments are texts."""
    return all(argument.type == STRING for argument in node.arguments)


def then_constants(node: Apply) -> bool:
    """Tell whether the arguments are a text and non-NULL constants, of which the first is not empty."""
    first, *others = node.arguments
    values = [other.value if isinstance(other, Constant) else None for other in others]
    return first.type == STRING and None not in values and values[:1] != [""]


def is_slice(node: Apply) -> bool:
    """Tell whether the start and the length are constants that Arrow counts as Spark does."""
    if not then_constants(node):
        return False
    numbers = [argument.value for argument in node.arguments[1:] if isinstance(argument, Constant)]
    return node.operation == "left" or numbers[0] >= 0 or len(numbers) == 1


def is_split(node: Apply) -> bool:
    """Tell whether the delimiter and the number of the part are constants, and the number is not 0."""
    return then_constants(node) and node.arguments[2] != Constant(0, node.arguments[2].type)


def of_regex(node: Apply) -> bool:
    """Tell whether the first argument is a text; the pattern is always a constant that RE2 supports."""
    return node.arguments[0].type == STRING


def changed_case(node: Apply, session: Session, text: Value) -> Value:
    """UPPER and LOWER: Arrow maps letters one by one, so that Python converts texts beyond ASCII."""
    column = all_rows(text, 1)
    result = pc.ascii_upper(column) if node.operation == "upper" else pc.ascii_lower(column)
    ascii = pc.fill_null(pc.string_is_ascii(column), True)
    if not pc.all(ascii).as_py():
        convert = STRING_FUNCTIONS[node.operation]
        others = [convert(value) for value in column.filter(pc.invert(ascii)).to_pylist()]
        result = pc.replace_with_mask(result, pc.invert(ascii), pa.array(others, pa.string()))
    return one_for_all(result, text)


def joined(node: Apply, session: Session, *texts: Value) -> Value:
    """CONCAT."""
    return pc.binary_join_element_wise(*texts, "") if len(texts) > 1 else texts[0]


def sliced(node: Apply, session: Session, text: Value, start: Value, length: Value | None = None) -> Value:
    """SUBSTRING and LEFT."""
    if node.operation == "left":
        start, length = pa.scalar(1), start
    first = start.as_py()
    begin = first - 1 if first > 0 else first
    end = None if length is None else begin + max(length.as_py(), 0)
    return pc.utf8_slice_codeunits(text, begin, end)


def replaced(node: Apply, session: Session, text: Value, search: Value, replacement: Value | None = None) -> Value:
    """REPLACE."""
    return pc.replace_substring(text, search.as_py(), "" if replacement is None else replacement.as_py())


def trimmed(node: Apply, session: Session, text: Value, characters: Value | None = None) -> Value:
    """TRIM, LTRIM and RTRIM."""
    return _TRIMS[node.operation](text, " " if characters is None else characters.as_py())


def split(node: Apply, session: Session, text: Value, delimiter: Value, number: Value) -> Value:
    """SPLIT_PART."""
    column, wanted = all_rows(text, 1), number.as_py()
    parts = pc.split_pattern(column, delimiter.as_py())
    lengths = pc.fill_null(pc.list_value_length(parts), 0).to_numpy(zero_copy_only=False)
    places = np.full(len(column), wanted - 1) if wanted > 0 else lengths + wanted
    inside = (places >= 0) & (places < lengths)
    begins = parts.offsets.to_numpy()[:-1].astype(np.int64)
    part = parts.values.take(pa.array(begins + places, mask=~inside))
    return one_for_all(pc.if_else(column.is_valid(), pc.fill_null(part, ""), None), text)


def matched(node: Apply, session: Session, text: Value, pattern: Value) -> Value:
    """RLIKE."""
    return pc.match_substring_regex(text, supported_regex(pattern.as_py()).source)


def extracted(node: Apply, session: Session, text: Value, pattern: Value, group: Value) -> Value:
    """REGEXP_EXTRACT."""
    column = all_rows(text, 1)
    captured = pc.struct_field(pc.extract_regex(column, supported_regex(pattern.as_py()).source), f"g{group.as_py()}")
    return one_for_all(pc.if_else(column.is_valid(), pc.fill_null(captured, ""), None), text)


def replaced_matches(node: Apply, session: Session, text: Value, pattern: Value, replacement: Value) -> Value:
    """REGEXP_REPLACE."""
    return pc.replace_substring_regex(text, supported_regex(pattern.as_py()).source, replacement.as_py())
