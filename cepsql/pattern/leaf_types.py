"""The Spark types of the leaves of conditions."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from cepsql.errors import NotSupportedError
from cepsql.pattern.program import Aggregate, Bit, ByVariable, Classifier, MatchNumber, MatchProgram, Navigation, Scalar
from cepsql.scalar.arrow.column_values import type_of
from cepsql.scalar.decimals import extended
from cepsql.scalar.expressions import Node, Session
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Type,
    array_of,
    is_decimal,
    parse_type,
)
from cepsql.scalar.typing import typed

ColumnTypes = tuple[tuple[str, Type], ...]


def column_types(program: MatchProgram, schema: pa.Schema) -> ColumnTypes:
    """Return the type of every travelling column; in conditions `t` is a TIMESTAMP in microseconds."""
    declared = {"t": TIMESTAMP, **dict(program.intervals)}
    return tuple((field.name, declared.get(field.name) or type_of(field.type)) for field in schema)


def typed_condition(condition: Scalar, types: Mapping[str, Type], session: Session) -> Node:
    """Type a condition as Spark does, from the types of the travelling columns.

    Raises NotSupportedError, with a span, for an operation that might not give the same as Spark's.
    """
    try:
        return typed(condition, leaf_types(types), session)
    except NotSupportedError as error:
        message = f"{error.message} is not supported in a condition on the match so far"
        raise NotSupportedError(message, error.span, error.hint) from error


def leaf_types(columns: Mapping[str, Type]) -> Callable[[object], Type]:
    """Return the function that types a leaf of a condition, from the types of the travelling columns."""

    def leaf_type(leaf: object) -> Type:
        match leaf:
            case Bit():
                return BOOLEAN
            case MatchNumber():
                return BIGINT
            case Classifier():
                return STRING
            case Navigation(column):
                return columns[column]
            case Aggregate(function, column, distinct=distinct, by=by):
                values = value_type(column, columns)
                compared = values if by is None else columns[by]
                if "collate" in str(compared).lower() and (distinct or function != "count"):
                    # Python compares strings by code point, without collations.
                    what = f"{function.upper()} of {'DISTINCT ' if distinct else ''}{str(compared).upper()} values"
                    raise NotSupportedError(what, hint="take them COLLATE UTF8_BINARY")
                if distinct and not is_plain(values):
                    raise NotSupportedError(
                        f"{function.upper()} of DISTINCT {str(values).upper()} values",
                        hint="take their texts, which to_json gives",
                    )
                return aggregate_type(function, values)
        raise TypeError(leaf)

    return leaf_type


def is_plain(values: Type) -> bool:
    """Tell whether values are hashable in Python, unlike arrays, structs and the like."""
    return values == UNKNOWN or (parse_type(str(values)) == values and not values.arguments)


def value_type(column: str | ByVariable | MatchNumber | None, columns: Mapping[str, Type]) -> Type:
    """Return the type of an aggregate's argument."""
    if isinstance(column, ByVariable):
        return STRING if column.column is None else columns[column.column]
    return columns[column] if isinstance(column, str) else BIGINT


def aggregate_type(function: str, values: Type) -> Type:
    """Return the type of an aggregate of values of a type.

    Raises NotSupportedError for values of an unsupported type.
    """
    if function == "count":
        return BIGINT
    if function == "collect_list":
        return array_of(values)
    if function in ("min", "max", "min_by", "max_by") or values == UNKNOWN:
        return values
    if is_decimal(values):
        return extended(values, 10, 0) if function in ("sum", "try_sum") else extended(values, 4, 4)
    if values in INTEGERS and function in ("sum", "try_sum"):
        return BIGINT
    if values in INTEGERS or values in FRACTIONS:
        return DOUBLE
    raise NotSupportedError(f"{function.upper()} of {str(values).upper()} values", hint="cast the values to a number")
