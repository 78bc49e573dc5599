"""Translate the scalar expressions of conditions to Python source, with Spark's rules for NULL, NaN and decimals."""

import math
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal

from cepsql.errors import NotSupportedError
from cepsql.pattern import values
from cepsql.pattern.casts import cast_function
from cepsql.pattern.decimals import decimal_result, decimal_size, rounded_result
from cepsql.pattern.functions import FUNCTIONS, NULL_TAKING
from cepsql.pattern.program import Call, Literal, Navigation, Scalar

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


class Source:
    """Python source while it is written.

    read:    writes what a leaf reads and returns a Python expression for it.
    types:   Spark SQL type of each column.
    globals: the objects that the source refers to by name.
    """

    def __init__(self, read: Callable[["Source", Scalar], str], types: Mapping[str, str]):
        self.read, self.types = read, types
        self.lines: list[str] = []
        self.globals = {name: getattr(values, name) for name in values.__all__}
        self.depth = 1
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


def compile_scalar(expression: Scalar, source: Source) -> str:
    """Append statements that evaluate the expression and return the name or constant that holds the value.

    Results are those of Spark without ANSI mode: integers wrap around, division by zero gives NULL.
    Raises NotSupportedError for an operation or cast that is not known.
    """
    match expression:
        case Literal(value):
            return source.constant(value)
        case Call(operation, arguments, _):
            write = _WRITERS.get(operation) or (_function if operation in FUNCTIONS else None)
            if write is None:
                raise NotSupportedError(f"the operation {operation} in a condition that reads the match so far")
            return write(source, expression, arguments)
    return source.assign(source.read(source, expression))


def execute(text: str, name: str, scope: dict) -> None:
    """Run generated source in a scope; `name` stands for its file in tracebacks."""
    with warnings.catch_warnings():
        # A constant operand gives source like `1.5 is None`, which Python finds odd.
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, name, "exec"), scope)


def type_of(expression: Scalar, types: Mapping[str, str]) -> str | None:
    """Return the Spark SQL type of an expression, None where it is not known."""
    match expression:
        case Call(operation, arguments, type) if type.startswith("decimal") and operation != "cast":
            return _decimal_type(operation, arguments, types) or type
        case Call(_, _, type):
            return type
        case Literal(value):
            names = {bool: "boolean", int: "bigint", float: "double", Decimal: "decimal", str: "string"}
            return names.get(value.__class__)
        case Navigation(column):
            return types.get(column)
    return None


def _decimal_type(operation: str, arguments: tuple[Scalar, ...], types: Mapping[str, str]) -> str | None:
    """Return the type of an operation on decimals, None where the types of its operands do not tell it."""
    kinds = [None if isinstance(argument, Literal) else type_of(argument, types) for argument in arguments]
    sizes = [
        decimal_size(kind, argument.value if isinstance(argument, Literal) else None)
        for argument, kind in zip(arguments, kinds, strict=True)
    ]
    if sizes[0] is None or not any(kinds):
        return None
    if operation in ("add", "sub", "mul", "div", "mod") and sizes[1] is not None:
        return decimal_result(operation, sizes[0], sizes[1])
    if operation in ("round", "bround") and isinstance(arguments[1], Literal):
        return rounded_result(sizes[0], arguments[1].value)
    if operation in ("floor", "ceil"):
        return rounded_result(sizes[0], 0)
    return kinds[0] if operation in ("neg", "abs") else None


def _values(source: Source, arguments: tuple[Scalar, ...]) -> list[str]:
    return [compile_scalar(argument, source) for argument in arguments]


def _strict(source: Source, names: list[str], expression: str) -> str:
    """Append an evaluation that gives NULL if an operand is NULL."""
    tests = [f"{name} is None" for name in names if name.isidentifier() and name not in ("True", "False")]
    if not tests:
        return source.assign(expression)
    return source.assign(f"None if {' or '.join(tests)} else {expression}")


def _and(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    return _connect(source, arguments, "False")


def _or(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    return _connect(source, arguments, "True")


def _connect(source: Source, arguments: tuple[Scalar, ...], decisive: str) -> str:
    """Append AND (decided by False) or OR (decided by True), evaluating no more than is needed."""
    result = source.assign(compile_scalar(arguments[0], source))
    depth = source.depth
    for argument in arguments[1:]:
        source.line(f"if {result} is not {decisive}:")
        source.depth += 1
        value = compile_scalar(argument, source)
        neutral = "True" if decisive == "False" else "False"
        source.line(f"if {value} is not {neutral}: {result} = {value}")
    source.depth = depth
    return result


def _not(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    names = _values(source, arguments)
    return _strict(source, names, f"not {names[0]}")


def _compare(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    names = _values(source, arguments)
    return _strict(source, names, f"({_comparison(source, call.operation, arguments, *names)})")


def _comparison(source: Source, operation: str, arguments: tuple[Scalar, ...], a: str, b: str) -> str:
    types = [type_of(argument, source.types) for argument in arguments]
    return COMPARISONS[operation][any(type in (None, "double", "float") for type in types)].format(a=a, b=b)


def _null_safe_equal(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    a, b = _values(source, arguments)
    # Two NULLs are equal for Python too, so that only NaN needs a word.
    return source.assign(_comparison(source, "eq", arguments, a, b))


def _arithmetic(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    names = _values(source, arguments)
    if call.type.startswith("decimal"):
        return _strict(source, names, f"decimal_{call.operation}({', '.join(names)}, {_decimal(source, call)})")
    return _narrow(source, call.type, _strict(source, names, f" {ARITHMETIC[call.operation]} ".join(names)))


def _divide(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    a, b = _values(source, arguments)
    if call.type.startswith("decimal"):
        return _strict(source, [a, b], f"decimal_div({a}, {b}, {_decimal(source, call)})")
    return _narrow(source, call.type, _strict(source, [a, b], f"(float({a}) / float({b}) if {b} else None)"))


def _modulo(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    a, b = _values(source, arguments)
    if call.type.startswith("decimal"):
        return _strict(source, [a, b], f"decimal_mod({a}, {b}, {_decimal(source, call)})")
    return _narrow(source, call.type, _strict(source, [a, b], f"modulo({a}, {b})"))


def _negate(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    names = _values(source, arguments)
    negated = f"{names[0]}.copy_negate()" if call.type.startswith("decimal") else f"-{names[0]}"
    return _narrow(source, call.type, _strict(source, names, negated))


def _absolute(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    names = _values(source, arguments)
    absolute = f"{names[0]}.copy_abs()" if call.type.startswith("decimal") else f"abs({names[0]})"
    return _narrow(source, call.type, _strict(source, names, absolute))


def _is_null(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    return source.assign(f"{source.assign(_values(source, arguments)[0])} is None")


def _coalesce(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    result = source.assign(compile_scalar(arguments[0], source))
    depth = source.depth
    for argument in arguments[1:]:
        source.line(f"if {result} is None:")
        source.depth += 1
        source.line(f"{result} = {compile_scalar(argument, source)}")
    source.depth = depth
    return result


def _case(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    result, depth = source.name(), source.depth
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=False):
        name = compile_scalar(condition, source)
        source.line(f"if {name}:")
        source.depth += 1
        source.line(f"{result} = {compile_scalar(value, source)}")
        source.depth -= 1
        source.line("else:")
        source.depth += 1
    otherwise = compile_scalar(arguments[-1], source) if len(arguments) % 2 else "None"
    source.line(f"{result} = {otherwise}")
    source.depth = depth
    return result


def _extreme(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    return source.assign(f"{call.operation}([{', '.join(_values(source, arguments))}])")


def _cast(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    name, given = compile_scalar(arguments[0], source), type_of(arguments[0], source.types)
    if given == call.type:
        return name
    # NULL, and values of which only Python knows the type.
    function = cast_function(given or "double", call.type)
    if function is None:
        what = f"CAST of {given} to {call.type}" if given else f"CAST to {call.type}"
        raise NotSupportedError(f"{what} in a condition that reads the match so far")
    return _strict(source, [name], f"{source.refer(function)}({name})")


def _function(source: Source, call: Call, arguments: tuple[Scalar, ...]) -> str:
    """Append a call of a function of `cepsql.pattern.functions`."""
    names = _values(source, arguments)
    text = f"{source.refer(FUNCTIONS[call.operation])}({', '.join(names)})"
    taking = [] if call.operation in NULL_TAKING else names
    return _narrow(source, call.type, _strict(source, taking, text))


def _narrow(source: Source, type: str, name: str) -> str:
    """Append what brings a result to the range of its type."""
    if type == "float":
        return _strict(source, [name], f"to_float({name})")
    if type in ("date", "timestamp"):
        limit = values.LIMITS[type]
        return source.assign(f"{name} if {name} is not None and {-limit} <= {name} < {limit} else None")
    if type in values.LIMITS:
        # Few results are beyond the ends, and a comparison is cheaper than the arithmetic of wrapping.
        limit = values.LIMITS[type]
        return source.assign(f"{name} if {name} is None or {-limit} <= {name} < {limit} else wrap({name}, {limit})")
    return name


def _decimal(source: Source, call: Call) -> str:
    """Return precision and scale of a decimal result as arguments; a plain 'decimal' keeps all digits."""
    size = decimal_size(type_of(call, source.types))
    return f"{size[0]}, {size[1]}" if size else "38, None"


_WRITERS = {
    "and": _and,
    "or": _or,
    "not": _not,
    **dict.fromkeys(COMPARISONS, _compare),
    "nseq": _null_safe_equal,
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    "div": _divide,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "isnull": _is_null,
    "coalesce": _coalesce,
    "case": _case,
    "greatest": _extreme,
    "least": _extreme,
    "cast": _cast,
}
