"""The registry of operations and functions: the type rule and the Python function of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cepsql.errors import NotSupportedError
from cepsql.scalar import array_rules, time_rules, type_rules
from cepsql.scalar.arrays import ARRAY_FUNCTIONS
from cepsql.scalar.coercion import implicit_cast, refused
from cepsql.scalar.expressions import Apply, Node, Session
from cepsql.scalar.functions import FUNCTIONS, PARTS_OF_DAYS, PARTS_OF_TIMES, TIME_UNITS
from cepsql.scalar.statistics import STATISTICS
from cepsql.scalar.types import DATE, INTEGERS, TIMESTAMPS, UNKNOWN, VOID, parse_type

MANY = 10_000
"""The most arguments of an operation that takes any number."""


@dataclass(frozen=True)
class Function:
    """An operation of `cepsql.scalar.expressions.Call`.

    rule:       its type rule; see `cepsql.scalar.type_rules.Rule`.
    least, most: the number of its arguments.
    python:     computes it from plain values; None if `cepsql.scalar.python` generates its source.
    takes_null: it is called with NULL arguments, too; otherwise NULL gives NULL.
    of_elements: the last argument is evaluated for each element of the first; see
                 `cepsql.scalar.expressions.Parameter`.
    """

    rule: type_rules.Rule
    least: int
    most: int
    python: Callable | None = None
    takes_null: bool = False
    of_elements: bool = False


def function(name: str) -> Function:
    """Return a function by its name.

    Raises NotSupportedError for an unknown name.
    """
    definition = REGISTRY.get(name)
    if definition is None:
        raise NotSupportedError(f"the operation {name}")
    return definition


def _signed(signature: str, operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Type a function with parameters of fixed types: "string, int? -> string"; "..." repeats the last one."""
    wanted, _, result = signature.partition(" -> ")
    kinds = [parse_type(parameter.rstrip("?.")) for parameter in wanted.split(", ")]
    kinds += kinds[-1:] * (len(operands) - len(kinds))
    if operation in _EXACT and any(node.type not in (*_EXACT[operation], VOID, UNKNOWN) for node in operands):
        raise refused(operation, operands)
    arguments = [
        implicit_cast(node, kind, session, operation.upper()) for node, kind in zip(operands, kinds, strict=False)
    ]
    return Apply(operation, tuple(arguments), parse_type(result))


_SIGNATURES = {
    **dict.fromkeys(("sqrt", "cbrt", "exp", "expm1", "ln", "log10", "log2", "log1p", "sign"), "double -> double"),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "cot"), "double -> double"),
    **dict.fromkeys(("rint", "radians", "degrees"), "double -> double"),
    **dict.fromkeys(("power", "atan2", "hypot", "log"), "double, double -> double"),
    **dict.fromkeys(("upper", "lower"), "string -> string"),
    **dict.fromkeys(("length", "ascii"), "string -> int"),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), "string, string? -> string"),
    **dict.fromkeys(("left", "right", "repeat"), "string, int -> string"),
    **dict.fromkeys(("startswith", "endswith", "contains"), "string, string -> boolean"),
    **dict.fromkeys(("lpad", "rpad"), "string, int, string? -> string"),
    "isnan": "double -> boolean",
    "bit_count": "bigint -> int",
    "substring": "string, int, int? -> string",
    "locate": "string, string, int? -> int",
    "replace": "string, string, string? -> string",
    "split_part": "string, string, int -> string",
    "concat_ws": "string... -> string",
    "levenshtein": "string, string -> int",
    "translate": "string, string, string -> string",
    **dict.fromkeys(PARTS_OF_DAYS, "date -> int"),
    "last_day": "date -> date",
    "add_months": "date, int -> date",
    "unix_micros": "timestamp -> bigint",
    "unix_date": "date -> int",
    "date_from_unix_date": "int -> date",
}
_EXACT = {"unix_date": (DATE,), "unix_micros": TIMESTAMPS, "bit_count": INTEGERS}
"""Functions whose arguments Spark does not cast implicitly, with the types that they take."""

_PYTHON = {**FUNCTIONS, **ARRAY_FUNCTIONS, **STATISTICS}
_NULL_TAKING = {"isnan", "nanvl", "concat_ws", "array", "map", "array_append", "locate"}


def _of_rule(names: str, rule: type_rules.Rule, least: int, most: int | None = None) -> dict[str, Function]:
    """Return operations that one rule types, which take `least` arguments, or from `least` to `most`."""
    return {
        name: Function(rule, least, most or least, _PYTHON.get(name), name in _NULL_TAKING) for name in names.split()
    }


def _of_signature(name: str, signature: str) -> Function:
    parameters = signature.partition(" -> ")[0].split(", ")
    least = sum(not parameter.endswith(("?", "...")) for parameter in parameters)
    most = MANY if parameters[-1].endswith("...") else len(parameters)
    return Function(partial(_signed, signature), max(least, 1), most, _PYTHON[name], name in _NULL_TAKING)


REGISTRY: dict[str, Function] = {
    **_of_rule("and or", type_rules.connect, 2, MANY),
    **_of_rule("not", type_rules.connect, 1),
    **_of_rule("eq ne lt le gt ge nseq", type_rules.compare, 2),
    **_of_rule("add sub mul div mod", type_rules.arithmetic, 2),
    **_of_rule("pmod", type_rules.positive_modulo, 2),
    **_of_rule("intdiv", type_rules.divide_whole, 2),
    **_of_rule("neg abs", type_rules.negate, 1),
    **_of_rule("bitand bitor bitxor", type_rules.bits, 2),
    **_of_rule("bitnot", type_rules.bits, 1),
    **_of_rule("shiftleft shiftright", type_rules.shift, 2),
    **_of_rule("round bround", type_rules.round_to, 1, 2),
    **_of_rule("floor ceil", type_rules.whole, 1, 2),
    **_of_rule("greatest least", type_rules.extreme, 2, MANY),
    **_of_rule("in", type_rules.one_of, 2, MANY),
    **_of_rule("isnull", type_rules.is_null, 1),
    **_of_rule("coalesce", type_rules.choose, 1, MANY),
    **_of_rule("case", type_rules.case, 3, MANY),
    **_of_rule("like ilike", type_rules.like, 2, 3),
    **_of_rule("rlike", type_rules.regular_expression, 2),
    **_of_rule("regexp_extract regexp_replace", type_rules.regular_expression, 3),
    **_of_rule("nanvl", type_rules.not_a_number_or, 2),
    **_of_rule("concat", type_rules.join_texts, 1, MANY),
    **_of_rule("reverse", type_rules.join_texts, 1),
    **_of_rule("date_add date_sub", time_rules.move_days, 2),
    **_of_rule("datediff", time_rules.count_days, 2),
    **_of_rule(" ".join(f"{unit}s_between" for unit in TIME_UNITS), time_rules.count_units, 2),
    **_of_rule(" ".join(PARTS_OF_TIMES), time_rules.part_of_time, 1),
    **_of_rule("date_format", time_rules.written, 2),
    **_of_rule("timestamp_seconds timestamp_millis timestamp_micros", time_rules.instant, 1),
    **_of_rule("array", array_rules.make_array, 1, MANY),
    **_of_rule("map", array_rules.make_map, 2, MANY),
    **_of_rule("map_from_arrays", array_rules.map_of_arrays, 2),
    **_of_rule("size", array_rules.size, 1),
    **_of_rule("array_contains array_position array_remove array_append", array_rules.with_element, 2),
    **_of_rule("array_sort array_max array_min array_distinct array_compact array_reverse", array_rules.of_array, 1),
    **_of_rule("sort_array", array_rules.of_array, 1, 2),
    **_of_rule("slice", array_rules.of_array, 3),
    **_of_rule("array_concat", array_rules.of_arrays, 1, MANY),
    **_of_rule("array_union array_intersect array_except", array_rules.of_arrays, 2),
    # = of arrays becomes `array_equal`.
    **_of_rule("array_equal", array_rules.equal, 2),
    **_of_rule("arrays_overlap", array_rules.overlap, 2),
    **_of_rule("map_keys map_values", array_rules.parts_of_map, 1),
    **dict.fromkeys(("transform", "filter"), Function(array_rules.of_elements, 3, 4, of_elements=True)),
    **dict.fromkeys(("exists", "forall"), Function(array_rules.of_elements, 3, 3, of_elements=True)),
    # Aggregates become functions of a list.
    **_of_rule("var_samp var_pop stddev_samp stddev_pop", array_rules.statistic, 1),
    **_of_rule("kurtosis skewness", array_rules.statistic, 1),
    **_of_rule("bit_and bit_or bit_xor", array_rules.bits, 1),
    **_of_rule("mode", array_rules.most_frequent, 1),
    **_of_rule("percentile", array_rules.percentile, 2),
    **_of_rule("listagg", array_rules.listagg, 1, 2),
    **_of_rule("array_join", array_rules.join, 2, 3),
    # `element_at` of a map becomes `lookup`.
    **_of_rule("element_at try_element_at get subscript lookup", array_rules.element, 2),
    **{name: _of_signature(name, signature) for name, signature in _SIGNATURES.items()},
}
