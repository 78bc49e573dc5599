"""Spark SQL expressions become `Node`s, or a reason why Arrow might not give the same values."""

import re
from collections.abc import Mapping

from sqlglot import exp, parse_one

from cepsql.language.tokens import DIALECT
from cepsql.scalar.times import parse_date, parse_timestamp
from cepsql.scalar.zone import UTC
from cepsql.scan.node import Apply, Constant, Node
from cepsql.scan.types import INTEGERS, NUMBERS, canonical_type, is_decimal


class Unlike(Exception):
    """An expression is not known to mean the same in Arrow as in Spark; the text says which and why."""


_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.NullSafeEQ: "nseq",
}  # fmt: skip
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Mod: "mod"}
_TEXT_TESTS: dict[type[exp.Expr], str] = {
    exp.StartsWith: "starts_with",
    exp.EndsWith: "ends_with",
    exp.Contains: "contains",
}
_INSTANTS = ("timestamp_seconds", "timestamp_millis", "timestamp_micros")
_COMPARABLE = ("boolean", "string", "date", "timestamp")


def compile_expression(sql: str, columns: Mapping[str, Node]) -> Node:
    """Turn the Spark SQL of a value of one row into a node with Spark's type and meaning (ANSI mode off).

    columns: what each column name, in lower case, stands for.
    Raises Unlike for all that is not in the list of what is known to be equal.
    """
    return compile_tree(parse_one(sql, read=DIALECT), columns)


def compile_tree(tree: exp.Expr, columns: Mapping[str, Node]) -> Node:
    """Do as `compile_expression` for a parsed expression."""
    return _Compiler(columns).value(tree)


def cast(node: Node, type: str) -> Node:
    """Return the value as another type.

    Raises Unlike unless both are numbers or booleans, or the types are equal.
    """
    if node.type == type:
        return node
    if isinstance(node, Constant) and node.value is None and node.type == "void":
        return Constant(None, type)
    if isinstance(node, Constant) and is_decimal(node.type):
        if type in ("double", "float"):
            return Constant(float(node.value), type)
        raise Unlike(f"a DECIMAL constant as {type.upper()}")
    if node.type in NUMBERS and type in NUMBERS:
        if isinstance(node, Constant) and _widens(node.type, type):
            return Constant(float(node.value) if type in ("float", "double") else node.value, type)
        return Apply("cast", (node,), type)
    if (node.type in NUMBERS and type == "boolean") or (node.type == "boolean" and type in NUMBERS):
        return Apply("cast", (node,), type)
    raise Unlike(f"CAST from {node.type.upper()} to {type.upper()}")


class _Compiler:
    def __init__(self, columns: Mapping[str, Node]):
        self.columns = columns

    def value(self, tree: exp.Expr) -> Node:
        """Compile one expression."""
        kind = type(tree)
        if kind in _COMPARISONS:
            return _compared(_COMPARISONS[kind], self.value(tree.this), self.value(tree.expression))
        if kind in _ARITHMETIC:
            return _computed(_ARITHMETIC[kind], self.value(tree.this), self.value(tree.expression))
        if kind in _TEXT_TESTS:
            return self._text_test(_TEXT_TESTS[kind], tree)
        match tree:
            case exp.Paren():
                return self.value(tree.this)
            case exp.Column():
                return self._column(tree)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return _constant(tree)
            case exp.Neg():
                return _negative(self.value(tree.this))
            case exp.And() | exp.Or():
                sides = [_boolean(self.value(side)) for side in (tree.left, tree.right)]
                return Apply(tree.key, tuple(sides), "boolean")
            case exp.Not():
                return Apply("not", (_boolean(self.value(tree.this)),), "boolean")
            case exp.Is():
                return self._is(tree)
            case exp.Between():
                low, high = (self.value(tree.args[name]) for name in ("low", "high"))
                value = self.value(tree.this)
                return Apply("and", (_compared("ge", value, low), _compared("le", value, high)), "boolean")
            case exp.In():
                return self._in(tree)
            case exp.Like():
                return self._like(tree)
            case exp.Coalesce():
                return _alike("coalesce", [self.value(e) for e in (tree.this, *tree.expressions)])
            case exp.Case() | exp.If():
                return self._case(tree)
            case exp.Cast() | exp.TryCast():
                return self._cast(tree)
            case exp.Div():
                sides = [_double(self.value(side)) for side in (tree.left, tree.right)]
                return Apply("div", tuple(sides), "double")
            case exp.IntDiv():
                sides = [_integer(self.value(side), "bigint") for side in (tree.left, tree.right)]
                return Apply("intdiv", tuple(sides), "bigint")
            case exp.Abs():
                argument = self.value(tree.this)
                return Apply("abs", (_number(argument),), argument.type)
            case exp.Length():
                return Apply("length", (_text(self.value(tree.this)),), "int")
            case exp.Anonymous() if tree.name.lower() in _INSTANTS and len(tree.expressions) == 1:
                return Apply(tree.name.lower(), (_integer(self.value(tree.expressions[0]), "bigint"),), "timestamp")
        raise Unlike(_spoken(tree))

    def _column(self, tree: exp.Column) -> Node:
        if tree.name.lower() not in self.columns:
            raise Unlike(tree.sql(dialect=DIALECT))
        return self.columns[tree.name.lower()]

    def _is(self, tree: exp.Is) -> Node:
        if isinstance(tree.expression, exp.Null):
            return Apply("isnull", (self.value(tree.this),), "boolean")
        if isinstance(tree.expression, exp.Boolean):
            return _compared("nseq", _boolean(self.value(tree.this)), _constant(tree.expression))
        raise Unlike(_spoken(tree))

    def _in(self, tree: exp.In) -> Node:
        if not tree.expressions:
            raise Unlike("IN with a subquery")
        value = self.value(tree.this)
        if value.type not in (*INTEGERS, *_COMPARABLE):
            raise Unlike(f"IN over a {value.type.upper()}")
        members = [_bare(_meet(value, self.value(e))[1]) for e in tree.expressions]
        if not all(isinstance(m, Constant) for m in members):
            raise Unlike("IN over other than constants")
        kinds = {m.type for m in members}
        if kinds - {value.type} or (value.type == "timestamp" and len(members) > 0):
            tests = [_compared("eq", value, self.value(e)) for e in tree.expressions]
            result = tests[0]
            for test in tests[1:]:
                result = Apply("or", (result, test), "boolean")
            return result
        return Apply("in", (value, *members), "boolean")

    def _text_test(self, operation: str, tree: exp.Expr) -> Node:
        pattern = self.value(tree.expression)
        if not isinstance(pattern, Constant) or pattern.type != "string":
            raise Unlike(f"{_spoken(tree)} with other than a constant")
        return Apply(operation, (_text(self.value(tree.this)), pattern), "boolean")

    def _like(self, tree: exp.Like) -> Node:
        pattern = tree.expression
        if not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise Unlike("LIKE with other than a constant")
        if "\\" in pattern.this:
            raise Unlike("LIKE with a backslash")
        parts = [{"%": ".*", "_": "."}.get(part) or re.escape(part) for part in re.split("([%_])", pattern.this)]
        expression = Constant(f"(?s)\\A{''.join(parts)}\\z", "string")
        return Apply("like", (_text(self.value(tree.this)), expression), "boolean")

    def _case(self, tree: exp.Case | exp.If) -> Node:
        branches = tree.args["ifs"] if isinstance(tree, exp.Case) else [tree]
        otherwise = tree.args.get("default") if isinstance(tree, exp.Case) else tree.args.get("false")
        subject = self.value(tree.this) if isinstance(tree, exp.Case) and tree.this is not None else None
        conditions = []
        for branch in branches:
            condition = self.value(branch.this)
            conditions.append(_boolean(condition) if subject is None else _compared("eq", subject, condition))
        values = [self.value(branch.args["true"]) for branch in branches]
        values.append(Constant(None, "void") if otherwise is None else self.value(otherwise))
        values = list(_alike("case", values).arguments)
        paired = [node for pair in zip(conditions, values, strict=False) for node in pair]
        return Apply("case", (*paired, values[-1]), values[-1].type)

    def _cast(self, tree: exp.Cast | exp.TryCast) -> Node:
        if tree.args.get("safe") and isinstance(tree, exp.TryCast):
            raise Unlike("TRY_CAST")
        target = canonical_type(tree.to.sql(dialect=DIALECT))
        inner = tree.this
        if isinstance(inner, exp.Literal) and inner.is_string:
            return _read_constant(inner.this, target)
        return cast(self.value(inner), target)


def _constant(tree: exp.Literal | exp.Boolean | exp.Null) -> Constant:
    if isinstance(tree, exp.Null):
        return Constant(None, "void")
    if isinstance(tree, exp.Boolean):
        return Constant(bool(tree.this), "boolean")
    if tree.is_string:
        return Constant(tree.this, "string")
    if tree.this.isdigit():
        value = int(tree.this)
        if value >= 2**63:
            return Constant(tree.this, "decimal(38,0)")
        return Constant(value, "int" if value < 2**31 else "bigint")
    if "e" in tree.this.lower():
        return Constant(float(tree.this), "double")
    return Constant(tree.this, "decimal(38,18)")


def _read_constant(text: str, type: str) -> Constant:
    """Return the value of a string constant as a date or time."""
    if type == "timestamp" and parse_timestamp(text, UTC) is not None:
        return Constant(text, "timestamp")
    if type == "date" and parse_date(text) is not None:
        return Constant(parse_date(text), "date")
    raise Unlike(f"{text!r} as {type.upper()}")


def _negative(node: Node) -> Node:
    if isinstance(node, Constant) and is_decimal(node.type):
        return Constant("-" + node.value, node.type)
    if isinstance(node, Constant) and node.type in ("int", "bigint"):
        return Constant(-node.value, node.type)
    return Apply("neg", (_number(node),), node.type)


def _compared(operation: str, left: Node, right: Node) -> Node:
    left, right = _meet(left, right)
    if is_decimal(left.type) or is_decimal(right.type):
        if isinstance(left, Constant):
            operation, left, right = _MIRRORED.get(operation, ""), right, left
        if isinstance(right, Constant) and right.value is not None and operation in _MIRRORED:
            if left.type in INTEGERS and abs(float(right.value)) >= 2.0 ** (INTEGERS[left.type].bit_width - 1):
                raise Unlike(f"{left.type.upper()} beside {right.value}, which is beyond its range")
            return Apply(f"{operation} decimal", (left, Constant(str(right.value), "string")), "boolean")
        raise Unlike("a comparison of DECIMALs")
    if left.type not in NUMBERS and left.type not in _COMPARABLE:
        raise Unlike(f"a comparison of {left.type.upper()}")
    return Apply(operation, (left, right), "boolean")


def _meet(left: Node, right: Node) -> tuple[Node, Node]:
    """Bring two sides of a comparison to the type in which Spark compares them.

    A DECIMAL constant stays one beside integers. Raises Unlike for pairs whose rules are not known here.
    """
    if left.type == right.type:
        return left, right
    if "void" in (left.type, right.type):
        return (cast(left, right.type), right) if left.type == "void" else (left, cast(right, left.type))
    if left.type in NUMBERS and right.type in NUMBERS:
        wider = _wider(left.type, right.type)
        return cast(left, wider), cast(right, wider)
    kinds = (left.type, right.type)
    for i, kind in enumerate(kinds):
        side, other = (left, right)[i], kinds[1 - i]
        if is_decimal(kind) and (left, right)[1 - i].type in INTEGERS and isinstance((left, right)[1 - i], Constant):
            return left, right
        if is_decimal(kind) and isinstance(side, Constant):
            if other in INTEGERS or is_decimal(other):
                return left, right
            if other in ("float", "double"):
                return cast(left, "double"), cast(right, "double")
        if kind == "string" and other in ("date", "timestamp") and isinstance(side, Constant):
            read = _read_constant(side.value, other)
            return (read, right) if i == 0 else (left, read)
    raise Unlike(f"{left.type.upper()} beside {right.type.upper()}")


def _computed(operation: str, left: Node, right: Node) -> Node:
    left, right = _meet(left, right)
    if left.type != right.type or left.type not in NUMBERS:
        raise Unlike(f"arithmetic on {left.type.upper()} and {right.type.upper()}")
    return Apply(operation, (left, right), left.type)


def _alike(operation: str, values: list[Node]) -> Apply:
    """Bring all values to one type.

    Raises Unlike if they are neither of one type nor all numbers.
    """
    kinds = [v.type for v in values if v.type != "void"]
    if not kinds or any(map(is_decimal, kinds)):
        raise Unlike("a choice among DECIMALs or NULLs")
    common = kinds[0]
    for kind in kinds[1:]:
        if kind != common and not (kind in NUMBERS and common in NUMBERS):
            raise Unlike(f"a choice between {common.upper()} and {kind.upper()}")
        common = common if kind == common else _wider(common, kind)
    return Apply(operation, tuple(cast(v, common) for v in values), common)


def _wider(a: str, b: str) -> str:
    order = list(NUMBERS)
    return order[max(order.index(a), order.index(b))]


def _widens(a: str, b: str) -> bool:
    return _wider(a, b) == b and not (b == "float" and a != "float")


def _boolean(node: Node) -> Node:
    if node.type == "void":
        return Constant(None, "boolean")
    if node.type != "boolean":
        raise Unlike(f"a {node.type.upper()} as condition")
    return node


def _number(node: Node) -> Node:
    if node.type not in NUMBERS:
        raise Unlike(f"arithmetic on {node.type.upper()}")
    return node


def _integer(node: Node, type: str) -> Node:
    if node.type not in INTEGERS:
        raise Unlike(f"{node.type.upper()} where a whole number is expected")
    return cast(node, type)


def _double(node: Node) -> Node:
    """Return a side of a division; DECIMALs divide as such unless the other side is a double."""
    return cast(_number(node), "double")


def _text(node: Node) -> Node:
    if node.type != "string":
        raise Unlike(f"{node.type.upper()} as text")
    return node


def _bare(node: Node) -> Node:
    """Return a constant that only a widening cast stands around as a constant."""
    if isinstance(node, Apply) and node.operation == "neg" and isinstance(node.arguments[0], Constant):
        return Constant(-node.arguments[0].value, node.type)
    return node


def _spoken(tree: exp.Expr) -> str:
    return tree.sql(dialect=DIALECT)
