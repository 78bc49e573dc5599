"""Expressions of DEFINE and MEASURES as trees: their text, and their value read straight off the rows of a match.

Nothing here is shared with the product. Rows are dicts of one partition in order.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Literal:
    """A whole number or a text."""

    value: int | str


@dataclass(frozen=True)
class Column:
    """`x` or `A.x`; the time column has microseconds."""

    name: str
    variable: str | None = None


@dataclass(frozen=True)
class Classifier:
    """CLASSIFIER() or CLASSIFIER(A)."""

    variable: str | None = None


@dataclass(frozen=True)
class Operation:
    """Two values with a sign or word between them."""

    left: "Expression"
    sign: str
    right: "Expression"


@dataclass(frozen=True)
class Not:
    """NOT, three-valued."""

    part: "Expression"


@dataclass(frozen=True)
class IsNull:
    """IS NULL."""

    part: "Expression"


@dataclass(frozen=True)
class Logical:
    """FIRST or LAST of rows of a variable, `offset` such rows further in; `semantics` RUNNING, FINAL or nothing."""

    function: str
    argument: "Expression"
    offset: int | None = None
    semantics: str = ""


@dataclass(frozen=True)
class Physical:
    """PREV or NEXT of the row that the argument reads."""

    function: str
    argument: "Expression"
    amount: int | None = None


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over the rows of the match, or of the variable of its argument; no argument: COUNT(A.*)."""

    function: str
    argument: "Expression | None"
    variable: str | None = None
    distinct: bool = False
    semantics: str = ""


@dataclass(frozen=True)
class Call:
    """MATCH_NUMBER, MATCH_TIMEOUT or MATCH_ROWTIME."""

    function: str


Expression = Literal | Column | Classifier | Operation | Not | IsNull | Logical | Physical | Aggregate | Call


@dataclass(frozen=True)
class Seen:
    """Where an expression is evaluated.

    rows:   the partition; `start` is where the match begins in it.
    names:  the variable of each row of the match; in a condition up to the row under test.
    upto:   how many rows of the match RUNNING sees.
    unions: members of each SUBSET.
    """

    rows: list[dict]
    start: int
    names: tuple[str, ...]
    upto: int
    number: int
    complete: bool
    unions: dict[str, tuple[str, ...]]

    def of(self, variable: str | None, semantics: str = "") -> list[int]:
        """Return the places in the match of the rows of a variable, as far as they are seen."""
        count = len(self.names) if semantics == "FINAL" else self.upto
        members = self.unions.get(variable, (variable,))
        return [place for place in range(count) if variable is None or self.names[place] in members]


def sql(node: Expression) -> str:
    """Write an expression as SQL."""
    match node:
        case Literal(str() as text):
            return f"'{text}'"
        case Literal(number):
            return str(number)
        case Column(name, variable):
            return f"{variable}.{name}" if variable else name
        case Classifier(variable):
            return f"CLASSIFIER({variable or ''})"
        case Operation(left, sign, right):
            return f"({sql(left)} {sign} {sql(right)})"
        case Not(part):
            return f"NOT ({sql(part)})"
        case IsNull(part):
            return f"({sql(part)}) IS NULL"
        case Logical(function, argument, number, semantics):
            return f"{semantics} {function}({sql(argument)}{_second(number)})".strip()
        case Physical(function, argument, number):
            return f"{function}({sql(argument)}{_second(number)})"
        case Aggregate(function, argument, variable, distinct, semantics):
            inside = sql(argument) if argument else f"{variable}.*" if variable else "*"
            return f"{semantics} {function}({'DISTINCT ' if distinct else ''}{inside})".strip()
        case Call(function):
            return f"{function}()"


def _second(number: int | None) -> str:
    return "" if number is None else f", {number}"


def value(node: Expression, seen: Seen):
    """Return the value of an expression; NULL is None."""
    match node:
        case Literal(constant):
            return constant
        case Operation(left, sign, right):
            return _SIGNS[sign](value(left, seen), value(right, seen))
        case Not(part):
            inner = value(part, seen)
            return None if inner is None else not inner
        case IsNull(part):
            return value(part, seen) is None
        case Column() | Classifier() | Logical() | Physical():
            place = _place(node, seen)
            return None if place is None else _read(_innermost(node), place, seen)
        case Aggregate():
            return _aggregate(node, seen)
        case Call("MATCH_NUMBER"):
            return seen.number
        case Call("MATCH_TIMEOUT"):
            return not seen.complete
        case Call("MATCH_ROWTIME"):
            return seen.rows[seen.start + len(seen.names) - 1]["ts"] if seen.names else None


def variable_of(node: Expression) -> str | None:
    """Return the one variable of a navigation's or an aggregate's argument."""
    match node:
        case Column(_, variable) | Classifier(variable):
            return variable
        case Operation(left, _, right):
            return variable_of(left) or variable_of(right)
        case IsNull(part) | Not(part):
            return variable_of(part)
    return None


def _innermost(node: Expression) -> Expression:
    return _innermost(node.argument) if isinstance(node, Logical | Physical) else node


def _place(node: Expression, seen: Seen) -> int | None:
    """Return which row is read, counted from the start of the match, possibly outside it."""
    match node:
        case Logical(function, argument, offset, semantics):
            places = seen.of(variable_of(argument), semantics)
            if function == "LAST":
                places = places[::-1]
            offset = offset or 0
            return places[offset] if offset < len(places) else None
        case Physical(function, argument, amount):
            place = _place(argument, seen)
            amount = 1 if amount is None else amount
            return None if place is None else place + (amount if function == "NEXT" else -amount)
    places = seen.of(variable_of(node))
    return places[-1] if places else None


def _read(argument: Expression, place: int, seen: Seen):
    """Return the value of an expression that reads one row: CLASSIFIER() in the match, columns in the partition."""
    if isinstance(argument, Classifier):
        return seen.names[place] if 0 <= place < len(seen.names) else None
    row = seen.start + place
    return _of_row(argument, seen.rows[row]) if 0 <= row < len(seen.rows) else None


def _at(argument: Expression, place: int, seen: Seen):
    """Return the value of an aggregate's argument for one row of the match."""
    match argument:
        case Classifier():
            return seen.names[place]
        case Call("MATCH_NUMBER"):
            return seen.number
        case Operation(left, sign, right):
            return _SIGNS[sign](_at(left, place, seen), _at(right, place, seen))
    return _of_row(argument, seen.rows[seen.start + place])


def _of_row(argument: Expression, row: dict):
    match argument:
        case Literal(constant):
            return constant
        case Column(name):
            return row[name]
        case Operation(left, sign, right):
            return _SIGNS[sign](_of_row(left, row), _of_row(right, row))
        case IsNull(part):
            return _of_row(part, row) is None


def _aggregate(node: Aggregate, seen: Seen):
    argument = node.argument
    places = seen.of(node.variable if argument is None else variable_of(argument), node.semantics)
    if argument is None:
        return len(places)
    values = [_at(argument, place, seen) for place in places]
    values = [value for value in values if value is not None]
    if node.function == "COUNT_IF":
        return sum(values)
    if node.distinct:
        values = sorted(set(values))
    if node.function == "COUNT":
        return len(values)
    if not values:
        return None
    return {"SUM": sum, "AVG": lambda v: sum(v) / len(v), "MIN": min, "MAX": max}[node.function](values)


def _strict(function):
    return lambda left, right: None if left is None or right is None else function(left, right)


def _and(left, right):
    return False if left is False or right is False else None if left is None or right is None else True


def _or(left, right):
    return True if left is True or right is True else None if left is None or right is None else False


_SIGNS = {
    "||": _strict(lambda a, b: str(a) + str(b)),
    "+": _strict(lambda a, b: a + b),
    "-": _strict(lambda a, b: a - b),
    "=": _strict(lambda a, b: a == b),
    "<>": _strict(lambda a, b: a != b),
    "<": _strict(lambda a, b: a < b),
    "<=": _strict(lambda a, b: a <= b),
    ">": _strict(lambda a, b: a > b),
    ">=": _strict(lambda a, b: a >= b),
    "AND": _and,
    "OR": _or,
}
