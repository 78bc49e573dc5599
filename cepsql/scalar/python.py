"""Translate typed expressions to Python source, with Spark's rules for NULL, NaN and overflow."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from cepsql.errors import NotSupportedError
from cepsql.scalar import arrays, intervals, values
from cepsql.scalar.casts import attempt_function, cast_function
from cepsql.scalar.expressions import Apply, Constant, Input, Leaf, Node, Parameter, Session
from cepsql.scalar.registry import REGISTRY
from cepsql.scalar.types import BIGINT, DATE, DOUBLE, FLOAT, FRACTIONS, TIMESTAMP, Type, is_decimal

COMPARISONS = {
    "eq": ("{a} == {b}", "{a} == {b} or ({a} != {a} and {b} != {b})"),
    "ne": ("{a} != {b}", "{a} != {b} and ({a} == {a} or {b} == {b})"),
    "lt": ("{a} < {b}", "{a} < {b} or ({b} != {b} and {a} == {a})"),
    "le": ("{a} <= {b}", "{a} <= {b} or {b} != {b}"),
    "gt": ("{a} > {b}", "{a} > {b} or ({a} != {a} and {b} == {b})"),
    "ge": ("{a} >= {b}", "{a} >= {b} or {a} != {a}"),
}
"""Each comparison as Python source: without NaN, and with NaN equal to itself and above all else."""

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*"}

_BY_ZERO = "division by zero"
_BEYOND = "a result is beyond the range of its type"


class PythonSource:
    """Python source while it is written.

    read:    writes the statements that read an input and returns a Python expression for its value.
    parameters: the names of the parameters of the open loops.
    globals: the objects that the source refers to by name.
    """

    def __init__(self, read: Callable[["PythonSource", Input], str], session: Session):
        self.read, self.session = read, session
        self.lines: list[str] = []
        self.globals = {name: getattr(values, name) for name in values.__all__}
        self.depth = 1
        self.parameters: dict[Parameter, str] = {}
        self._names = 0

    def line(self, text: str) -> None:
        """Append a line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def name(self) -> str:
        """Return a fresh local name."""
        self._names += 1
        return f"x{self._names}"

    def assign(self, expression: str) -> str:
        """Append an assignment to a fresh name and return the name."""
        name = self.name()
        self.line(f"{name} = {expression}")
        return name

    def refer(self, function: Callable) -> str:
        """Return a name for a function."""
        name = f"function{len(self.globals)}"
        self.globals[name] = function
        return name

    def constant(self, value: object) -> str:
        """Return an expression for a constant."""
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value) if not (isinstance(value, int | float) and value < 0) else f"({value!r})"
        name = f"constant{len(self.globals)}"
        self.globals[name] = value
        return name


def compile_node(node: Node, source: PythonSource) -> str:
    """Append statements that evaluate a typed expression; return the name or constant that holds the value.

    In ANSI mode the source raises DataError where Spark raises an error.
    """
    match node:
        case Constant(value):
            return source.constant(value)
        case Apply(operation):
            return _WRITERS.get(operation, _function)(source, node)
        case Input(Parameter() as parameter):
            return source.parameters[parameter]
    return source.assign(source.read(source, node))


def execute(text: str, name: str, scope: dict) -> None:
    """Run generated source in a scope; `name` is its file name in tracebacks.

    Raises NotSupportedError for expressions nested more deeply than Python allows blocks to be.
    """
    with warnings.catch_warnings():
        # A constant operand gives source like `1.5 is None`, about which Python warns.
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            code = compile(text, name, "exec")
        except SyntaxError as error:
            raise NotSupportedError("the expression is nested too deeply") from error
    exec(code, scope)


@lru_cache(maxsize=64)
def compile_rows(node: Node, leaves: tuple[Leaf, ...], session: Session) -> Callable[[Sequence[Sequence], int], list]:
    """Return a function (columns of the leaves, number of rows) -> the list of an expression's values."""
    source = PythonSource(lambda _, column: f"column{leaves.index(column.leaf)}[i]", session)
    source.depth = 2
    result = compile_node(node, source)
    columns = [f"    column{i} = columns[{i}]" for i in range(len(leaves))]
    head = ["def compute(columns, count):", *columns, "    found = []", "    for i in range(count):"]
    tail = [f"        found.append({result})", "    return found"]
    scope = dict(source.globals)
    execute("\n".join([*head, *source.lines, *tail]), "<expression>", scope)
    return scope["compute"]


def _values(source: PythonSource, node: Apply) -> list[str]:
    return [compile_node(argument, source) for argument in node.arguments]


def _operands(source: PythonSource, node: Apply, last_first: bool = False) -> list[str]:
    """Append the operands of an operation that is NULL if one of them is; after a NULL none is evaluated, for it could
    fail."""
    if any(isinstance(argument, Constant) and argument.value is None for argument in node.arguments):
        return ["None"] * len(node.arguments)
    names: list[str] = []
    conditions: list[str] = []
    for argument in reversed(node.arguments) if last_first else node.arguments:
        if conditions and isinstance(argument, Apply):
            names.append(source.assign("None"))
            source.line(f"if {' and '.join(conditions)}:")
            source.depth += 1
            source.line(f"{names[-1]} = {compile_node(argument, source)}")
            source.depth -= 1
            # It is None, too, if an operand before it is.
            conditions = []
        else:
            names.append(compile_node(argument, source))
        if not isinstance(argument, Constant):
            # Without ANSI mode division by zero is NULL for every dividend.
            by_zero = last_first and not source.session.ansi
            conditions.append(names[-1] if by_zero else f"{names[-1]} is not None")
    return names[::-1] if last_first else names


def _strict(source: PythonSource, names: list[str], expression: str) -> str:
    """Append an evaluation that gives NULL if an operand is NULL."""
    tests = [f"{name} is None" for name in names if name.isidentifier() and name not in ("True", "False")]
    if not tests:
        return source.assign(expression)
    return source.assign(f"None if {' or '.join(tests)} else {expression}")


def _and(source: PythonSource, node: Apply) -> str:
    return _connect(source, node, "False")


def _or(source: PythonSource, node: Apply) -> str:
    return _connect(source, node, "True")


def _connect(source: PythonSource, node: Apply, decisive: str) -> str:
    """Append AND (decided by False) or OR (decided by True), with short-circuit evaluation."""
    result = source.assign(compile_node(node.arguments[0], source))
    for argument in node.arguments[1:]:
        source.line(f"if {result} is not {decisive}:")
        source.depth += 1
        value = compile_node(argument, source)
        neutral = "True" if decisive == "False" else "False"
        source.line(f"if {value} is not {neutral}: {result} = {value}")
        source.depth -= 1
    return result


def _not(source: PythonSource, node: Apply) -> str:
    names = _values(source, node)
    return _strict(source, names, f"not {names[0]}")


def _compare(source: PythonSource, node: Apply) -> str:
    names = _operands(source, node)
    return _strict(source, names, f"({_comparison(node.operation, node, *names)})")


def _comparison(operation: str, node: Apply, a: str, b: str) -> str:
    return COMPARISONS[operation][any(argument.type in FRACTIONS for argument in node.arguments)].format(a=a, b=b)


def _null_safe_equal(source: PythonSource, node: Apply) -> str:
    a, b = _values(source, node)
    # None == None in Python, too, so that only NaN needs care.
    return source.assign(_comparison("eq", node, a, b))


def _in(source: PythonSource, node: Apply) -> str:
    """Append IN: true if a member is equal, else NULL if one is NULL."""
    value, *members = node.arguments
    name = source.assign(compile_node(value, source))
    result, depth = source.assign("None"), source.depth
    source.line(f"if {name} is not None:")
    source.depth += 1
    source.line(f"{result} = False")
    for member in members:
        source.line(f"if {result} is not True:")
        source.depth += 1
        other = source.assign(compile_node(member, source))
        source.line(f"if {other} is None: {result} = None")
        source.line(f"elif {_comparison('eq', node, name, other)}: {result} = True")
        source.depth -= 1
    source.depth = depth
    return result


def _arithmetic(source: PythonSource, node: Apply) -> str:
    names = _operands(source, node)
    if is_decimal(node.type):
        return _decimal(source, node, names)
    return _narrow(source, node.type, _strict(source, names, f" {ARITHMETIC[node.operation]} ".join(names)))


def _decimal(source: PythonSource, node: Apply, names: list[str]) -> str:
    size = f"{node.type.precision}, {node.type.scale}"
    computed = f"decimal_{node.operation}({', '.join(names)}, {size})"
    return _strict(source, names, _checked(source, computed, _BEYOND))


def _checked(source: PythonSource, expression: str, what: str) -> str:
    """Return the source of a value that is None where Spark gives NULL; in ANSI mode it raises an error instead."""
    return f"not_null({expression}, {what!r})" if source.session.ansi else expression


def _divide(source: PythonSource, node: Apply) -> str:
    a, b = _dividend_and_divisor(source, node)
    if is_decimal(node.type):
        return _decimal(source, node, [a, b])
    return _narrow(source, node.type, _strict(source, [a, b], f"({a} / {b} if {b} else None)"))


def _modulo(source: PythonSource, node: Apply) -> str:
    a, b = _dividend_and_divisor(source, node)
    if is_decimal(node.type):
        return _decimal(source, node, [a, b])
    return _narrow(source, node.type, _strict(source, [a, b], f"modulo({a}, {b})"))


def _dividend_and_divisor(source: PythonSource, node: Apply) -> list[str]:
    """Append the operands of a division; division by zero is an error in ANSI mode."""
    a, b = _operands(source, node, last_first=True)
    if source.session.ansi:
        source.line(f"if {a} is not None and {b} is not None and not {b}: not_null(None, {_BY_ZERO!r})")
    return [a, b]


def _divided_whole(source: PythonSource, node: Apply) -> str:
    a, b = _dividend_and_divisor(source, node)
    function = source.refer(_python(node))
    limit = ", 2147483648" if node.operation == "pmod" and node.type.name != "bigint" else ", 2**63"
    more = limit if node.operation == "pmod" else ""
    text = f"{function}({a}, {b}{more})"
    if is_decimal(node.type):
        text = _checked(source, f"to_decimal({text}, {node.type.precision}, {node.type.scale})", _BEYOND)
    elif any(is_decimal(argument.type) for argument in node.arguments):
        text = f"low_bits({_checked(source, f'to_decimal({text}, 38, 0)', _BEYOND)})"
    return _narrow(source, node.type, _strict(source, [a, b], f"({text} if {b} else None)"))


def _python(node: Apply) -> Callable:
    """Return the function of an operation that has one."""
    function = REGISTRY[node.operation].python
    assert function is not None
    return function


def _negate(source: PythonSource, node: Apply) -> str:
    names = _values(source, node)
    if is_decimal(node.type):
        return _strict(source, names, _negated(names[0], node.type))
    return _narrow(source, node.type, _strict(source, names, f"-{names[0]}"))


def _negated(name: str, type: Type) -> str:
    return f"decimal_negated({name}, {type.precision}, {type.scale})"


def _absolute(source: PythonSource, node: Apply) -> str:
    names = _values(source, node)
    absolute = f"abs({names[0]})"
    if is_decimal(node.type):
        absolute = f"({_negated(names[0], node.type)} if {names[0]} < 0 else {names[0]})"
    return _narrow(source, node.type, _strict(source, names, absolute))


def _is_null(source: PythonSource, node: Apply) -> str:
    return source.assign(f"{source.assign(_values(source, node)[0])} is None")


def _coalesce(source: PythonSource, node: Apply) -> str:
    result = source.assign(compile_node(node.arguments[0], source))
    for argument in node.arguments[1:]:
        source.line(f"if {result} is None:")
        source.depth += 1
        source.line(f"{result} = {compile_node(argument, source)}")
        source.depth -= 1
    return result


def _nan_or(source: PythonSource, node: Apply) -> str:
    """Append NANVL, whose second argument is evaluated for NaN only."""
    result = source.assign(compile_node(node.arguments[0], source))
    source.line(f"if {result} is not None and {result} != {result}:")
    source.depth += 1
    source.line(f"{result} = {compile_node(node.arguments[1], source)}")
    source.depth -= 1
    return result


def _case(source: PythonSource, node: Apply) -> str:
    """Append CASE: a condition is evaluated only if none before it is true."""
    result, is_met, depth, arguments = source.name(), "", source.depth, node.arguments
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=False):
        if is_met:
            source.line(f"if not {is_met}:")
            source.depth += 1
        name = compile_node(condition, source)
        is_met = is_met or source.name()
        source.line(f"{is_met} = {name}")
        source.line(f"if {is_met}:")
        source.depth += 1
        source.line(f"{result} = {compile_node(value, source)}")
        source.depth = depth
    source.line(f"if not {is_met}:")
    source.depth += 1
    source.line(f"{result} = {compile_node(arguments[-1], source)}")
    source.depth = depth
    return result


def _extreme(source: PythonSource, node: Apply) -> str:
    return source.assign(f"{node.operation}([{', '.join(_values(source, node))}])")


def _cast(source: PythonSource, node: Apply) -> str:
    (argument,) = node.arguments
    name = compile_node(argument, source)
    if node.operation == "try_cast":
        function = attempt_function(argument.type, node.type, source.session)
    else:
        function = cast_function(argument.type, node.type, source.session)
    return _strict(source, [name], f"{source.refer(function)}({name})")


def _interval(source: PythonSource, node: Apply) -> str:
    """Append an operation of `cepsql.scalar.intervals`."""
    names = _operands(source, node)
    function: Callable = intervals.FUNCTIONS[node.operation]
    if node.operation in ("add interval", "sub interval"):
        function = partial(function, source.session.zone if node.type == TIMESTAMP else None)
    return _strict(source, names, f"{source.refer(function)}({', '.join(names)})")


def _of_elements(source: PythonSource, node: Apply) -> str:
    """Append a loop over an array that evaluates the last argument for each element."""
    values, *inputs, body = node.arguments
    array, result, depth = compile_node(values, source), source.assign("None"), source.depth
    names = [source.name(), source.name()]
    for parameter, name in zip(inputs, names, strict=False):
        assert isinstance(parameter, Input)
        source.parameters[parameter.leaf] = name
    source.line(f"if {array} is not None:")
    source.depth += 1
    source.line(f"{result} = {_BEFORE_ELEMENTS.get(node.operation, '[]')}")
    source.line(f"for {names[1]}, {names[0]} in enumerate({array}):")
    source.depth += 1
    value = source.assign(compile_node(body, source))
    match node.operation:
        case "transform":
            source.line(f"{result}.append({value})")
        case "filter":
            source.line(f"if {value}: {result}.append({names[0]})")
        case _:
            decisive = not _BEFORE_ELEMENTS[node.operation]
            source.line(f"if {value} is None: {result} = None")
            source.line(f"elif {value} is {decisive}:")
            source.line(f"    {result} = {decisive}")
            source.line("    break")
    source.depth -= 1
    if node.operation not in _BEFORE_ELEMENTS:
        source.line(f"{result} = tuple({result})")
    source.depth = depth
    return result


_BEFORE_ELEMENTS = {"exists": False, "forall": True}
"""The result for an empty array."""


def _element(source: PythonSource, node: Apply) -> str:
    """Append ELEMENT_AT and the like; in ANSI mode two of them fail for an index beyond the array."""
    names = _operands(source, node)
    if node.arguments[1].type == BIGINT:
        names[1] = source.assign(f"None if {names[1]} is None else wrap({names[1]}, {2**31})")
    strict = source.session.ansi and node.operation in ("element_at", "subscript")
    function = arrays.element if node.operation.endswith("element_at") else arrays.item
    return _strict(source, names, f"{source.refer(function)}({', '.join(names)}, {strict})")


def _function(source: PythonSource, node: Apply) -> str:
    """Append a call of a function of the registry."""
    function = REGISTRY[node.operation]
    names = (_values if function.takes_null else _operands)(source, node)
    text = f"{source.refer(_python(node))}({', '.join(names)})"
    if is_decimal(node.type):
        # Spark fails in both modes if rounding makes more than 38 digits.
        text = f"fitting_decimal({text}, {node.type.precision}, {node.type.scale}, {_BEYOND!r})"
    return _narrow(source, node.type, _strict(source, [] if function.takes_null else names, text))


def _narrow(source: PythonSource, type: Type, name: str) -> str:
    """Append the conversion of a result to the range of its type."""
    if type == FLOAT:
        return _strict(source, [name], f"to_float({name})")
    limit = values.LIMITS.get(type.name)
    if type == DOUBLE or limit is None:
        return name
    # Few results are out of range, and a comparison is cheaper than wrapping.
    if type.name == "interval":
        beyond = f"{source.refer(intervals.checked)}({name})"
    else:
        beyond = f"{'in_range' if source.session.ansi and type != DATE else 'wrap'}({name}, {limit})"
    return source.assign(f"{name} if {name} is None or {-limit} <= {name} < {limit} else {beyond}")


_WRITERS = {
    "and": _and,
    "or": _or,
    "not": _not,
    **dict.fromkeys(COMPARISONS, _compare),
    "nseq": _null_safe_equal,
    "in": _in,
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    "div": _divide,
    "mod": _modulo,
    "pmod": _divided_whole,
    "intdiv": _divided_whole,
    "neg": _negate,
    "abs": _absolute,
    "isnull": _is_null,
    "coalesce": _coalesce,
    "nanvl": _nan_or,
    "case": _case,
    "greatest": _extreme,
    "least": _extreme,
    "cast": _cast,
    "try_cast": _cast,
    **dict.fromkeys(intervals.FUNCTIONS, _interval),
    **dict.fromkeys(("transform", "filter", "exists", "forall"), _of_elements),
    **dict.fromkeys(("element_at", "try_element_at", "get", "subscript"), _element),
}
