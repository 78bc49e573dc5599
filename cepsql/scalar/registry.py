"""Every operation and function, once: how it types its result, and the Python function that computes it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cepsql.errors import NotSupportedError
from cepsql.scalar import array_rules, rules, time_rules
from cepsql.scalar.arrays import ARRAY_FUNCTIONS
from cepsql.scalar.coercion import implicit_cast
from cepsql.scalar.functions import FUNCTIONS
from cepsql.scalar.tree import Apply, Node, Session
from cepsql.scalar.types import parse_type


@dataclass(frozen=True)
class Function:
    """An operation of `cepsql.scalar.tree.Call`.

    rule:       types it; see `cepsql.scalar.rules.Rule`.
    python:     computes it from plain values; None for what `cepsql.scalar.python` writes itself.
    takes_null: it is called with NULL arguments too; else NULL gives NULL.
    """

    rule: rules.Rule
    python: Callable | None = None
    takes_null: bool = False


def function(name: str) -> Function:
    """Return a function by its name.

    Raises NotSupportedError if there is none.
    """
    found = REGISTRY.get(name)
    if found is None:
        raise NotSupportedError(f"the operation {name} in a condition that reads the match so far")
    return found


def _signed(signature: str, operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Type a function that wants arguments of fixed types: "string, int? -> string"; "..." repeats the last one."""
    wanted, _, result = signature.partition(" -> ")
    parameters = wanted.split(", ")
    least = sum(not parameter.endswith(("?", "...")) for parameter in parameters)
    repeated = parameters[-1].endswith("...")
    if len(operands) < least or (len(operands) > len(parameters) and not repeated):
        raise NotSupportedError(f"{operation.upper()} with {len(operands)} arguments")
    kinds = [parse_type(parameter.rstrip("?.")) for parameter in parameters]
    kinds += kinds[-1:] * (len(operands) - len(kinds))
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
    **dict.fromkeys(("like", "ilike"), "string, string, string? -> boolean"),
    **dict.fromkeys(("lpad", "rpad"), "string, int, string? -> string"),
    "isnan": "double -> boolean",
    "bit_count": "bigint -> int",
    "substring": "string, int, int? -> string",
    "locate": "string, string, int? -> int",
    "replace": "string, string, string? -> string",
    "concat_ws": "string... -> string",
    "levenshtein": "string, string -> int",
    "translate": "string, string, string -> string",
    "add_months": "date, int -> date",
}
_NULL_TAKING = {"isnan", "nanvl", "concat_ws"}
_TIME_UNITS = [name for name in FUNCTIONS if name.endswith("s_between")]
_RULES: dict[str, rules.Rule] = {
    **dict.fromkeys(("nanvl",), rules.not_a_number_or),
    **dict.fromkeys(("concat", "reverse"), rules.join_texts),
    **dict.fromkeys(("round", "bround"), rules.round_to),
    **dict.fromkeys(("floor", "ceil"), rules.whole),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "bitnot"), rules.bits),
    **dict.fromkeys(("shiftleft", "shiftright"), rules.shift),
    **dict.fromkeys(_TIME_UNITS, time_rules.count_units),
    "pmod": rules.positive_modulo,
    "intdiv": rules.divide_whole,
}

_ARRAY_RULES: dict[str, rules.Rule] = {
    **dict.fromkeys(("array_contains", "array_position", "array_remove", "array_append"), array_rules.with_element),
    **dict.fromkeys(("sort_array", "array_sort", "array_max", "array_min", "array_distinct"), array_rules.of_array),
    **dict.fromkeys(("array_compact", "array_reverse", "slice"), array_rules.of_array),
    **dict.fromkeys(("array_concat", "array_union", "array_intersect", "array_except"), array_rules.of_arrays),
    "array": array_rules.make_array,
    "map": array_rules.make_map,
    "size": array_rules.size,
    "array_join": array_rules.join,
}
_ARRAY_NULL_TAKING = {"array", "map", "array_append"}

REGISTRY: dict[str, Function] = {
    **dict.fromkeys(("and", "or", "not"), Function(rules.connect)),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "nseq"), Function(rules.compare)),
    **dict.fromkeys(("add", "sub", "mul", "div", "mod"), Function(rules.arithmetic)),
    **dict.fromkeys(("neg", "abs"), Function(rules.negate)),
    **dict.fromkeys(("greatest", "least"), Function(rules.extreme)),
    **dict.fromkeys(("date_add", "date_sub"), Function(time_rules.move_days)),
    "in": Function(rules.one_of),
    "isnull": Function(rules.is_null),
    "coalesce": Function(rules.choose),
    "case": Function(rules.case),
    "datediff": Function(time_rules.count_days),
    **dict.fromkeys(("element_at", "try_element_at", "get", "subscript"), Function(array_rules.element)),
    # What `element_at` of a map becomes.
    "lookup": Function(array_rules.element, ARRAY_FUNCTIONS["lookup"]),
    **{name: Function(rule, ARRAY_FUNCTIONS[name], name in _ARRAY_NULL_TAKING) for name, rule in _ARRAY_RULES.items()},
    **{name: Function(rule, FUNCTIONS[name], name in _NULL_TAKING) for name, rule in _RULES.items()},
    **{
        name: Function(partial(_signed, signature), FUNCTIONS[name], name in _NULL_TAKING)
        for name, signature in _SIGNATURES.items()
    },
}
