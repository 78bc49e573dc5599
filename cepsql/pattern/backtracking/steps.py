"""Generate for every variable the function that maps a row to it and tests the rest of its condition."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from cepsql.base.cached_property import cached_property
from cepsql.errors import InternalError
from cepsql.pattern.backtracking.registers import LABELS, NUMBER, START, Register, registers, registers_of
from cepsql.pattern.leaf_types import ColumnTypes, leaf_types, value_type
from cepsql.pattern.program import Aggregate, Bit, ByVariable, Classifier, MatchNumber, Navigation, Scalar
from cepsql.scalar.decimals import extended
from cepsql.scalar.expressions import Call, Input, Literal, Session, leaves
from cepsql.scalar.python import PythonSource, compile_node, execute
from cepsql.scalar.types import DOUBLE, FRACTIONS, Type, is_decimal
from cepsql.scalar.typing import typed


class UnknownRow(Exception):
    """A condition reads a row that has not arrived."""


@dataclass(frozen=True)
class Steps:
    """The compiled conditions on the match so far.

    registers: the registers of a path, in order.
    columns:   the columns to read, as lists of plain Python values.
    physical:  whether rows outside the match are read, so that `bind` needs the limits of the partition.
    bind:      (lists by column, first row, one past the last row, open) -> one function a variable, or None if it
               changes and tests nothing. A function takes (registers, row) and returns the registers with that row
               mapped to the variable, or None if its condition does not hold. It raises UnknownRow for a row past the
               last if `open`.
    text:      the source of `bind`.
    """

    registers: tuple[Register, ...]
    columns: tuple[str, ...]
    physical: bool
    bind: Callable
    text: str

    def begin(self, start: int, number: int) -> tuple:
        """Return the registers of a path before its first row."""
        if self._at_rest is not None:
            return self._at_rest
        return tuple([_initial(register, start, number) for register in self.registers])

    @cached_property
    def _at_rest(self) -> tuple | None:
        """The registers before the first row, if they are the same for every path."""
        if NUMBER in self.registers or START in self.registers:
            return None
        return tuple(_initial(register, -1, -1) for register in self.registers)


@lru_cache(maxsize=256)
def compile_steps(
    conditions: tuple[Scalar | None, ...],
    variables: tuple[str, ...],
    types: ColumnTypes,
    session: Session,
    key: str,
) -> Steps:
    """Compile the parts of conditions that read the match so far.

    types:   the types of all columns.
    session: its rules of computation apply.
    key:     distinguishes values that are equal in Python, like the constants 1 and 1.0.
    Raises NotSupportedError for an operation that might not compute as in Spark on these types.
    """
    carried = registers(conditions)
    writer = _Writer(carried, variables, dict(types), session)
    names = [writer.function(v, condition) for v, condition in enumerate(conditions)]
    columns = tuple(sorted(writer.columns))
    text = "\n".join(
        ["def bind(columns, low, high, open):"]
        + [f"    column_{name} = columns[{name!r}]" for name in columns]
        + writer.source.lines
        + [f"    return [{', '.join(names)}]"]
    )
    scope = {**writer.source.globals, "UnknownRow": UnknownRow}
    execute(text, "<conditions of a row pattern>", scope)
    return Steps(carried, columns, writer.physical, scope["bind"], text)


def _initial(register: Register, start: int, number: int) -> object:
    match register.kind:
        case "number":
            return number
        case "start":
            return start
        case "depth" | "count":
            return 0
        case "first" | "first label":
            return -1 - register.k
        case "last" | "last label":
            return -1
        case "labels":
            return ""
        case "values":
            return frozenset()
        case "list":
            return ()
    return None


class _Writer:
    """The writer of the functions' source."""

    def __init__(
        self, carried: tuple[Register, ...], variables: tuple[str, ...], types: Mapping[str, Type], session: Session
    ):
        self.places = {register: f"r{place}" for place, register in enumerate(carried)}
        self.variables = variables
        self.columns: set[str] = set()
        self.physical = False
        self.variable = -1
        self.types, self.leaf_type = types, leaf_types(types)
        self.source = PythonSource(self.read, session)
        self.source.globals["names"] = variables

    def function(self, variable: int, condition: Scalar | None) -> str:
        """Append the function of a variable and return its name, or "None" if it has nothing to do."""
        changed = [register for register in self.places if register.changed_by(variable)]
        if not changed and condition is None:
            return "None"
        self.variable = variable
        source = self.source
        source.line(f"def step_{variable}(registers, row):")
        source.depth += 1
        if self.places:
            source.line(f"{', '.join(self.places.values())}, = registers")
        # A register of a chain is updated before the register that it copies from, and sums of distinct values before
        # the set of values.
        for register in sorted(changed, key=lambda r: (-r.k, r.kind in ("values", "max_by", "min_by"))):
            self.change(register)
        for part in _parts(condition):
            node = typed(part, self.leaf_type, source.session)
            source.line(f"if not {compile_node(node, source)}: return None")
        source.line(f"return ({', '.join(self.places.values())},)" if changed else "return registers")
        source.depth -= 1
        return f"step_{variable}"

    def change(self, register: Register) -> None:
        """Append the update of a register by a row of the variable."""
        source, name = self.source, self.places[register]
        match register.kind:
            case "depth":
                source.line(f"if {name} <= {register.k}: {name} += 1")
            case "first" | "first label":
                value = "row" if register.kind == "first" else self.variable
                source.line(f"if {name} < 0: {name} = {name} + 1 if {name} < -1 else {value}")
            case "last" | "last label" if register.k:
                source.line(f"{name} = {self.places[Register(register.kind, register.variables, register.k - 1)]}")
            case "last":
                source.line(f"{name} = row")
            case "last label":
                source.line(f"{name} = {self.variable}")
            case "labels":
                source.line(f"{name} += {chr(self.variable)!r}")
            case "count" if register.column is None:
                source.line(f"{name} += 1")
            case _:
                self.accumulate(register, name)

    def accumulate(self, register: Register, name: str) -> None:
        """Append the update of an aggregate by the value of the row."""
        source = self.source
        if register.by is not None:
            self.follow(register, name)
            return
        value = source.assign(self.aggregated(register.column))
        if register.kind == "list":
            source.line(f"if {value} is not None: {name} += ({value},)")
        elif register.kind == "count":
            source.line(f"if {value} is not None: {name} += 1")
        elif register.kind == "values":
            source.line(f"if {value} is not None: {name} |= {{same_nan({value})}}")
        elif register.kind.endswith("sum"):
            new = f"{value} is not None"
            if register.kind.startswith("distinct"):
                new += f" and {value} not in {self.places[Register('values', register.variables, 0, register.column)]}"
            begun, more = self.sum(register, name, value)
            source.line(f"if {new}: {name} = {begun} if {name} is None else {more}")
        else:
            a, b = (name, value) if register.kind == "minimum" else (value, name)
            combined = f"{value} if is_greater({a}, {b}) else {name}"
            source.line(f"if {value} is not None: {name} = {value} if {name} is None else {combined}")

    def follow(self, register: Register, name: str) -> None:
        """Append the update of MAX_BY or MIN_BY by the row: of rows with the best value the last one counts."""
        kind = register.kind.removesuffix(" value")
        best = self.places[Register(kind, register.variables, 0, None, register.by)]
        value = self.source.assign(self.of_row(register.by))
        a, b = (best, value) if kind == "max_by" else (value, best)
        taken = value if register.kind == kind else self.of_row(register.column)
        better = f"{best} is None or not is_greater({a}, {b})"
        self.source.line(f"if {value} is not None and ({better}): {name} = {taken}")

    def sum(self, register: Register, name: str, value: str) -> tuple[str, str]:
        """Return expressions for a sum of one value, and for a sum with one more."""
        kind = value_type(register.column, self.types)
        if is_decimal(kind):
            return value, f"add_exactly({name}, {value})"
        if kind in FRACTIONS or register.kind.endswith("mean sum"):
            # Spark begins at 0.0, which turns -0.0 into 0.0.
            return f"0.0 + {value}", f"{name} + {value}"
        if _is_checked(register, self.source.session):
            return value, f"bounded({name} + {value})"
        return value, f"{name} + {value}"

    def aggregated(self, column: str | ByVariable | MatchNumber | None) -> str:
        """Return the expression of the value of the row that is mapped to the variable."""
        if isinstance(column, MatchNumber):
            return self.places[NUMBER]
        value = column.values[self.variable] if isinstance(column, ByVariable) else column
        return self.source.constant(value.value) if isinstance(value, Literal) else self.of_row(value)

    def of_row(self, column: object) -> str:
        """Return the expression of a column's value in the row under test; `column` must be a name."""
        assert isinstance(column, str)
        return f"{self.column(column)}[row]"

    def column(self, name: str) -> str:
        """Return the local name of a column's list."""
        self.columns.add(name)
        return f"column_{name}"

    def read(self, source: PythonSource, node: Input) -> str:
        """Append the statements that a leaf needs, and return the expression of its value."""
        leaf = node.leaf
        match leaf:
            case Bit(index):
                return f"{self.column('m')}[row] >> {index} & 1 == 1"
            case MatchNumber():
                return self.places[NUMBER]
            case Navigation(column, variables, first, offset, shift, _, frame):
                row, exists = self.find(variables, first, offset)
                return _guarded(f"{self.column(column)}[{self.shifted(row, exists, shift, frame)}]", exists)
            case Classifier():
                return self.label(leaf)
            case Aggregate():
                return self.aggregate(leaf)
        raise InternalError(f"no condition can read {leaf!r}")

    def find(self, variables: frozenset[int] | None, first: bool, offset: int) -> tuple[str, list[str]]:
        """Return expressions for a row of the match, and for the conditions under which it exists."""
        if variables is None and first:
            row = f"{self.places[START]} + {offset}" if offset else self.places[START]
            return row, [f"{row} <= row"] if offset else []
        if variables is None:
            depth = self.places[Register("depth", None, offset)] if offset else ""
            return (f"row - {offset}", [f"{depth} > {offset}"]) if offset else ("row", [])
        if not first and offset == 0 and self.variable in variables:
            return "row", []
        name = self.places[Register("first" if first else "last", variables, offset)]
        return name, [f"{name} >= 0"]

    def shifted(self, row: str, exists: list[str], shift: int, frame: int | None) -> str:
        """Return the expression of the row `shift` rows away, and extend the conditions under which it exists."""
        if not shift:
            return row
        self.physical = True
        place = self.source.assign(f"{row} {'+' if shift > 0 else '-'} {abs(shift)}")
        if frame is not None:
            start = self.places[START]
            exists.append(f"{place} >= {start}" if shift < 0 else f"{place} <= {start} + {frame}")
        if shift > 0:
            conditions = " and ".join([*exists, f"{place} >= high", "open"])
            self.source.line(f"if {conditions}: raise UnknownRow")
            exists.append(f"{place} < high")
        else:
            exists.append(f"{place} >= low")
        return place

    def label(self, leaf: Classifier) -> str:
        """Return the expression of the name of a row's variable."""
        variables, first, offset, shift = leaf.variables, leaf.first, leaf.offset, leaf.shift
        if variables is None and not first:
            if offset - shift < 0:
                return "None"
            wanted = self.places[Register("last label", None, offset - shift)]
            exists = [f"{self.places[register]} >= 0" for register in registers_of(leaf)]
            return _guarded(f"names[{wanted}]", exists)
        if not shift:
            name = self.places[Register("first label" if first else "last label", variables, offset)]
            return _guarded(f"names[{name}]", [f"{name} >= 0"])
        row, exists = self.find(variables, first, offset)
        start = self.places[START]
        place = self.source.assign(_guarded(f"{row} + {shift}", exists))
        in_match = [f"{place} is not None", f"{start} <= {place} <= row"]
        return _guarded(f"names[ord({self.places[LABELS]}[{place} - {start}])]", in_match)

    def aggregate(self, leaf: Aggregate) -> str:
        """Return the expression of an aggregate's value so far."""
        first, *others = registers_of(leaf)
        name = self.places[first]
        if leaf.function == "count":
            return f"len({name})" if first.kind == "values" else name
        if leaf.function in ("min", "max", "min_by", "max_by", "collect_list"):
            return name
        if leaf.function not in ("avg", "try_avg"):
            return self.total(leaf, name)
        count = self.places[others[0]]
        count = f"len({count})" if others[0].kind == "values" else count
        return _guarded(self.average(leaf, name, count), [f"{name} is not None"])

    def total(self, leaf: Aggregate, name: str) -> str:
        """Return the expression of a sum in the range of its type."""
        kind = self.leaf_type(leaf)
        if kind == DOUBLE:
            return name
        if is_decimal(kind):
            sized = self.checked(leaf, f"to_decimal({name}, {kind.precision}, {kind.scale})")
        elif _is_checked(registers_of(leaf)[0], self.source.session):
            sized = self.checked(leaf, f"({name} if {name} != BEYOND else None)")
        else:
            sized = f"wrap({name}, {2**63})"
        return _guarded(sized, [f"{name} is not None"])

    def average(self, leaf: Aggregate, total: str, count: str) -> str:
        """Return the expression of a mean; for decimals the sum must fit its type."""
        kind = self.leaf_type(leaf)
        if not is_decimal(kind):
            return f"{total} / {count}"
        sized = extended(value_type(leaf.column, self.types), 10, 0)
        total = f"to_decimal({total}, {sized.precision}, {sized.scale})"
        return self.checked(leaf, f"mean({total}, {count}, {kind.precision}, {kind.scale})")

    def checked(self, leaf: Aggregate, value: str) -> str:
        """Return the expression of a value that is None out of the range of its type; in ANSI mode that is an error."""
        strict = self.source.session.ansi and not leaf.function.startswith("try_")
        return f"not_null({value}, 'a sum is beyond the range of its type')" if strict else value


def _is_checked(register: Register, session: Session) -> bool:
    """Tell whether a sum of integers stays out of range once it was beyond BIGINT."""
    return session.ansi or register.kind.endswith("checked sum")


def _parts(condition: Scalar | None) -> list[Scalar]:
    """Return the sides of a top-level AND, those that look ahead last, because they may have to wait."""
    if condition is None:
        return []
    parts = condition.arguments if isinstance(condition, Call) and condition.operation == "and" else (condition,)
    return sorted(parts, key=lambda part: any(getattr(leaf, "shift", 0) > 0 for leaf in leaves(part)))


def _guarded(expression: str, exists: list[str]) -> str:
    return f"{expression} if {' and '.join(exists)} else None" if exists else expression
