"""Types of the results and arguments of functions of arrays and maps."""

from dataclasses import replace

from cepsql.errors import NotSupportedError
from cepsql.scalar.coercion import cast, common_type, display_name, implicit_cast, refused
from cepsql.scalar.expressions import Apply, Constant, Node, Session
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    array_of,
    is_decimal,
    is_number,
)


def make_array(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ARRAY of values of one type."""
    kind = _common([node.type for node in operands], operation, session)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), array_of(kind))


def make_map(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """MAP of key, value, key, value, ..."""
    if not operands or len(operands) % 2:
        raise NotSupportedError("MAP takes keys and values in pairs")
    kinds = [_common([node.type for node in operands[i::2]], operation, session) for i in (0, 1)]
    if kinds[0].name == "map":
        raise refused(operation, operands)
    arguments = tuple(cast(node, kinds[i % 2], session) for i, node in enumerate(operands))
    return Apply(operation, arguments, Type("map", arguments=tuple(kinds)))


def size(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """SIZE: of NULL it is -1 without ANSI mode."""
    (values,) = operands
    if values.type.name not in ("array", "map"):
        raise refused(operation, operands)
    counted = Apply("size", (values,), INT)
    return counted if session.ansi else Apply("coalesce", (counted, Constant(-1, INT)), INT)


def with_element(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ARRAY_CONTAINS, ARRAY_POSITION, ARRAY_REMOVE and ARRAY_APPEND: an array and a value of its type."""
    values, value = operands
    if values.type.name != "array" or value.type == VOID:
        raise refused(operation, operands)
    kind = common_type((values.type.arguments[0], value.type), session, texts=False)
    if kind is None:
        raise refused(operation, operands)
    arguments = (cast(values, array_of(kind), session), cast(value, kind, session))
    result = {"array_contains": BOOLEAN, "array_position": BIGINT}.get(operation, array_of(kind))
    return Apply(operation, arguments, result)


def of_array(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Functions of one array that give an array of its type, or an element."""
    values, *others = operands
    if values.type.name != "array":
        raise refused(operation, operands)
    kind = values.type.arguments[0] if operation in ("array_max", "array_min") else values.type
    wanted = BOOLEAN if operation == "sort_array" else INT
    return Apply(operation, (values, *(implicit_cast(o, wanted, session, operation.upper()) for o in others)), kind)


def of_arrays(operation: str, operands: tuple[Node, ...], session: Session) -> Apply:
    """Functions of several arrays of one type."""
    if any(node.type.name != "array" for node in operands):
        raise refused(operation, operands)
    inner = [node.type.arguments[0] for node in operands]
    joins = operation == "array_concat"
    common = _common(inner, operation, session, texts=joins)
    # Set operations of Spark cast no element to a string, and no DECIMAL to another one.
    if not joins and any(is_decimal(kind) and kind != common for kind in inner):
        raise refused(operation, operands)
    kind = array_of(common)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), kind)


def equal(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """= of arrays, where NULL elements are equal."""
    elements = [node.type.arguments[0] for node in operands if node.type.name == "array"]
    kind = common_type(elements, session, texts=False) if len(elements) == 2 else None
    if kind is None or kind.name in ("map", "array", "struct", "variant"):
        raise refused("eq", operands)
    return Apply(operation, tuple(cast(node, array_of(kind), session) for node in operands), BOOLEAN)


def overlap(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ARRAYS_OVERLAP."""
    arrays = of_arrays(operation, operands, session)
    return replace(arrays, type=BOOLEAN)


def parts_of_map(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """MAP_KEYS and MAP_VALUES."""
    (values,) = operands
    if values.type.name != "map":
        raise refused(operation, operands)
    return Apply(operation, operands, array_of(values.type.arguments[operation == "map_values"]))


def of_elements(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """TRANSFORM, FILTER, EXISTS and FORALL: an array, parameters, and an expression for each element."""
    values, body = operands[0], operands[-1]
    if values.type.name != "array" or body.type == VOID:
        raise refused(operation, (values, body))
    if operation == "transform":
        return Apply(operation, operands, array_of(body.type))
    if body.type not in (BOOLEAN, UNKNOWN):
        raise refused(operation, (values, body))
    return Apply(operation, operands, values.type if operation == "filter" else BOOLEAN)


def statistic(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Variances and standard deviations of a list of numbers."""
    return Apply(operation, (_numbers(operation, operands[0], session),), DOUBLE)


def bits(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """BIT_AND, BIT_OR and BIT_XOR of a list of whole numbers."""
    (values,) = operands
    element = values.type.arguments[0] if values.type.name == "array" else VOID
    if element not in (*INTEGERS, UNKNOWN):
        raise refused(operation, operands)
    return Apply(operation, operands, element)


def most_frequent(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """MODE of a list."""
    (values,) = operands
    if values.type.name != "array":
        raise refused(operation, operands)
    return Apply(operation, operands, values.type.arguments[0])


def map_of_arrays(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """MAP_FROM_ARRAYS of keys and values."""
    if any(node.type.name != "array" for node in operands) or operands[0].type.arguments[0].name == "map":
        raise refused(operation, operands)
    return Apply(operation, operands, Type("map", arguments=tuple(node.type.arguments[0] for node in operands)))


def percentile(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """PERCENTILE of a list of numbers, at a constant fraction."""
    values, fraction = operands
    fraction = cast(fraction, DOUBLE, session)
    if not isinstance(fraction, Constant) or fraction.value is None or not 0 <= fraction.value <= 1:
        raise NotSupportedError("PERCENTILE takes one constant from 0 to 1")
    return Apply(operation, (_numbers(operation, values, session), fraction), DOUBLE)


def listagg(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """LISTAGG of a list of texts."""
    values, *separator = operands
    if values.type.name != "array" or values.type.arguments[0] not in (STRING, UNKNOWN):
        raise refused(operation, operands)
    texts = [implicit_cast(text, STRING, session, "LISTAGG") for text in separator]
    # Spark treats a NULL separator as none.
    separators = [text for text in texts if not (isinstance(text, Constant) and text.value is None)]
    return Apply(operation, (values, *separators), STRING)


def _numbers(operation: str, values: Node, session: Session) -> Node:
    element = values.type.arguments[0] if values.type.name == "array" else VOID
    if element != UNKNOWN and not is_number(element):
        raise refused(operation, (values,))
    return cast(values, array_of(DOUBLE), session)


def join(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ARRAY_JOIN."""
    values, *texts = operands
    if values.type.name != "array":
        raise refused(operation, operands)
    arguments = [implicit_cast(node, STRING, session, operation.upper()) for node in texts]
    return Apply(operation, (cast(values, array_of(STRING), session), *arguments), STRING)


def element(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ELEMENT_AT, TRY_ELEMENT_AT, GET and square brackets."""
    values, index = operands
    if values.type.name == "map" and operation != "get":
        return Apply("lookup", (values, cast(index, values.type.arguments[0], session)), values.type.arguments[1])
    refuses_long = operation.endswith("element_at") and index.type == BIGINT
    if values.type.name != "array" or index.type not in INTEGERS or refuses_long:
        raise refused(operation, operands)
    index = cast(index, INT, session) if operation == "get" else index
    return Apply(operation, (values, index), values.type.arguments[0])


def _common(kinds: list[Type], operation: str, session: Session, texts: bool = True) -> Type:
    kind = common_type(kinds, session, texts)
    if kind is None:
        raise NotSupportedError(f"{operation.upper()} of {' and '.join(map(display_name, kinds))}")
    return kind
