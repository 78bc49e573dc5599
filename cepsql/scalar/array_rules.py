"""How functions of arrays and maps type their result and what they convert their arguments to."""

from cepsql.errors import NotSupportedError
from cepsql.scalar.coercion import cast, common_type, implicit_cast, refused, spoken
from cepsql.scalar.tree import Apply, Constant, Node, Session
from cepsql.scalar.types import BIGINT, BOOLEAN, INT, INTEGERS, STRING, VOID, Type, array_of


def make_array(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ARRAY of values of one type."""
    kind = _common([node.type for node in operands], operation, session)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), array_of(kind))


def make_map(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """MAP of key, value, key, value, ..."""
    if not operands or len(operands) % 2:
        raise NotSupportedError("MAP takes keys and values in pairs")
    kinds = [_common([node.type for node in operands[i::2]], operation, session) for i in (0, 1)]
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


def of_arrays(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Functions of several arrays of one type."""
    if any(node.type.name != "array" for node in operands):
        raise refused(operation, operands)
    kind = array_of(_common([node.type.arguments[0] for node in operands], operation, session))
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), kind)


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
    if values.type.name != "array" or index.type not in INTEGERS:
        raise refused(operation, operands)
    return Apply(operation, operands, values.type.arguments[0])


def _common(kinds: list[Type], operation: str, session: Session) -> Type:
    kind = common_type(kinds, session)
    if kind is None:
        raise NotSupportedError(f"{operation.upper()} of {' and '.join(map(spoken, kinds))}")
    return kind
