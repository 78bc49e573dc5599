"""Generate, for every variable, the function that maps a row to it and tests the rest of its condition."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from cepsql.errors import InternalError
from cepsql.pattern.program import (
    Aggregate,
    Bit,
    ByVariable,
    Call,
    Classifier,
    Literal,
    MatchNumber,
    Navigation,
    Scalar,
    leaves,
)
from cepsql.pattern.registers import LABELS, NUMBER, START, Register, registers, registers_of
from cepsql.pattern.scalar import Source, compile_scalar, execute


class UnknownRow(Exception):
    """A condition reads a row that has not come yet."""


@dataclass(frozen=True)
class Steps:
    """What tests conditions on the match so far.

    registers: what a path carries, in order.
    columns:   the columns that are read, as lists of plain Python values.
    physical:  rows outside the match are read, so that `bind` needs the limits of the partition.
    bind:      (lists by column, first row, one past the last row, open) -> one function a variable, or None where
               nothing changes and nothing is tested. A function takes (registers, row) and returns the registers with
               that row mapped to the variable, or None if its condition does not hold. It raises UnknownRow for a row
               past the last if `open`.
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
    conditions: tuple[Scalar | None, ...], variables: tuple[str, ...], types: tuple[tuple[str, str], ...], key: str
) -> Steps:
    """Compile the parts of conditions that read the match so far.

    types: Spark SQL type of every column.
    key:   tells apart what Python takes as equal, like the constants 1 and 1.0.
    """
    carried = registers(conditions)
    writer = _Writer(carried, variables, dict(types))
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
    return None


class _Writer:
    """The functions while they are written."""

    def __init__(self, carried: tuple[Register, ...], variables: tuple[str, ...], types: Mapping[str, str]):
        self.places = {register: f"r{place}" for place, register in enumerate(carried)}
        self.variables = variables
        self.columns: set[str] = set()
        self.physical = False
        self.variable = -1
        self.source = Source(self.read, types)
        self.source.globals["names"] = variables

    def function(self, variable: int, condition: Scalar | None) -> str:
        """Append the function of a variable and return its name, or None if there is nothing to do."""
        changed = [register for register in self.places if register.changed_by(variable)]
        if not changed and condition is None:
            return "None"
        self.variable = variable
        source = self.source
        source.line(f"def step_{variable}(registers, row):")
        source.depth += 1
        if self.places:
            source.line(f"{', '.join(self.places.values())}, = registers")
        # Later rows of a chain move before the row that they take over from is overwritten.
        for register in sorted(changed, key=lambda r: -r.k):
            self.change(register)
        for part in _parts(condition):
            source.line(f"if not {compile_scalar(part, source)}: return None")
        source.line(f"return ({', '.join(self.places.values())},)" if changed else "return registers")
        source.depth -= 1
        return f"step_{variable}"

    def change(self, register: Register) -> None:
        """Append what a row of the variable does to a register."""
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
        """Append what the value of the row does to an aggregate."""
        source, value = self.source, self.source.assign(self.aggregated(register.column))
        if register.kind == "count":
            source.line(f"if {value} is not None: {name} += 1")
        elif register.kind == "values":
            source.line(f"if {value} is not None: {name} |= {{same_nan({value})}}")
        else:
            is_decimal = source.types.get(_typed_column(register.column), "").startswith("decimal")
            combined = {
                "sum": f"add_exactly({name}, {value})" if is_decimal else f"{name} + {value}",
                "minimum": f"{value} if is_greater({name}, {value}) else {name}",
                "maximum": f"{value} if is_greater({value}, {name}) else {name}",
            }[register.kind]
            source.line(f"if {value} is not None: {name} = {value} if {name} is None else {combined}")

    def aggregated(self, column: str | ByVariable | MatchNumber) -> str:
        """Return the expression of the value of the row that is mapped to the variable."""
        if isinstance(column, MatchNumber):
            return self.places[NUMBER]
        value = column.values[self.variable] if isinstance(column, ByVariable) else column
        return self.source.constant(value.value) if isinstance(value, Literal) else f"{self.column(value)}[row]"

    def column(self, name: str) -> str:
        """Return the local name of a column's list."""
        self.columns.add(name)
        return f"column_{name}"

    def read(self, source: Source, leaf: Scalar) -> str:
        """Append what a leaf needs and return the expression of its value."""
        match leaf:
            case Bit(index):
                return f"{self.column('m')}[row] >> {index} & 1 == 1"
            case MatchNumber():
                return self.places[NUMBER]
            case Navigation(column, variables, first, offset, shift):
                row, exists = self.find(variables, first, offset)
                return _guarded(f"{self.column(column)}[{self.shifted(row, exists, shift)}]", exists)
            case Classifier():
                return self.label(leaf)
            case Aggregate():
                return self.aggregate(leaf)
        raise InternalError(f"no condition can read {leaf!r}")

    def find(self, variables: frozenset[int] | None, first: bool, offset: int) -> tuple[str, list[str]]:
        """Return expressions for a row of the match, and for what must be true if there is one."""
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

    def shifted(self, row: str, exists: list[str], shift: int) -> str:
        """Return the expression of the row `shift` rows away and extend what must be true of it."""
        if not shift:
            return row
        self.physical = True
        place = self.source.assign(f"{row} {'+' if shift > 0 else '-'} {abs(shift)}")
        if shift > 0:
            known = " and ".join([*exists, f"{place} >= high", "open"])
            self.source.line(f"if {known}: raise UnknownRow")
            exists.append(f"{place} < high")
        else:
            exists.append(f"{place} >= low")
        return place

    def label(self, leaf: Classifier) -> str:
        """Return the expression of the name of the variable that a row was mapped to."""
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
        known = [f"{place} is not None", f"{start} <= {place} <= row"]
        return _guarded(f"names[ord({self.places[LABELS]}[{place} - {start}])]", known)

    def aggregate(self, leaf: Aggregate) -> str:
        """Return the expression of an aggregate's value so far."""
        kept = {register.kind: self.places[register] for register in registers_of(leaf)}
        if leaf.function in ("min", "max"):
            return kept["minimum" if leaf.function == "min" else "maximum"]
        if "values" in kept:
            kept = {"sum": f"total({kept['values']})", "count": f"len({kept['values']})"}
        if leaf.function != "avg":
            return kept[leaf.function]
        return _guarded(self.average(leaf.column, kept["sum"], kept["count"]), [f"{kept['count']} > 0"])

    def average(self, column: str | ByVariable | MatchNumber, total: str, count: str) -> str:
        """Return the expression of a mean, as Spark types it: four more digits for a decimal, else double."""
        type = self.source.types.get(_typed_column(column), "double")
        if not type.startswith("decimal("):
            return f"{total} / {count}"
        precision, scale = (int(part) for part in type[8:-1].split(","))
        return f"decimal_div({total}, {count}, {min(precision + 4, 38)}, {min(scale + 4, 38)})"


def _typed_column(column: str | ByVariable | MatchNumber) -> str | None:
    """Return a column of the type of what is aggregated, None where it is no column."""
    if isinstance(column, ByVariable):
        return column.column
    return column if isinstance(column, str) else None


def _parts(condition: Scalar | None) -> list[Scalar]:
    """Return the sides of a top-level AND, those that look ahead last: they may have to wait."""
    if condition is None:
        return []
    parts = condition.arguments if isinstance(condition, Call) and condition.operation == "and" else (condition,)
    return sorted(parts, key=lambda part: any(getattr(leaf, "shift", 0) > 0 for leaf in leaves(part)))


def _guarded(expression: str, exists: list[str]) -> str:
    return f"{expression} if {' and '.join(exists)} else None" if exists else expression
