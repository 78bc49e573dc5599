"""Random MATCH_RECOGNIZE clauses of every kind, and their text.

Choices are plain calls of a `random.Random`, since Hypothesis strategies as large as this are slow to build.
"""

from dataclasses import dataclass
from random import Random

from clause_expressions import (
    Aggregate,
    Call,
    Classifier,
    Column,
    Expression,
    IsNull,
    Literal,
    Logical,
    Not,
    Operation,
    Physical,
    sql,
)

from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable, walk

COLUMNS = "k STRING, ts TIMESTAMP, n INT, x INT, y INT, s STRING"
SECOND = 1_000_000
NAMES = ("A", "B", "C")


@dataclass(frozen=True)
class Clause:
    """What one MATCH_RECOGNIZE says.

    order:   ORDER BY.
    unions:  SUBSET: name to members.
    all:     ALL ROWS PER MATCH; `empty` is "SHOW EMPTY MATCHES" and so on, or nothing.
    skip:    target of AFTER MATCH SKIP, such as "TO LAST A", or nothing; `skip_to` is its variable.
    within:  seconds.
    """

    pattern: Pattern
    variables: tuple[str, ...]
    order: str
    unions: dict[str, tuple[str, ...]]
    defines: dict[str, Expression]
    measures: tuple[Expression, ...]
    all: bool
    empty: str
    timeouts: bool
    skip: str
    skip_to: str | None
    within: int | None

    def __repr__(self) -> str:
        return self.text("rows")

    def text(self, relation: str) -> str:
        """Return a query with this clause."""
        parts = [f"PARTITION BY k ORDER BY {self.order}"]
        if self.measures:
            parts.append("MEASURES " + ", ".join(f"{sql(m)} AS m{i}" for i, m in enumerate(self.measures)))
        rows = "ALL ROWS PER MATCH" if self.all else "ONE ROW PER MATCH"
        parts.append(" ".join(filter(None, (rows, self.empty, "SHOW TIMEOUT MATCHES" if self.timeouts else ""))))
        if self.skip:
            parts.append(f"AFTER MATCH SKIP {self.skip}")
        parts.append(f"PATTERN ({written(self.pattern)})")
        if self.within:
            parts.append(f"WITHIN INTERVAL '{self.within}' SECONDS")
        if self.unions:
            parts.append("SUBSET " + ", ".join(f"{u} = ({', '.join(members)})" for u, members in self.unions.items()))
        if self.defines:
            parts.append("DEFINE " + ", ".join(f"{v} AS {sql(condition)}" for v, condition in self.defines.items()))
        return f"SELECT * FROM {relation} MATCH_RECOGNIZE (" + "\n  ".join(parts) + ")"


def written(pattern: Pattern) -> str:
    """Write a row pattern with as few parentheses as the grammar allows."""
    match pattern:
        case Variable(name):
            return name
        case Empty():
            return "()"
        case Anchor(end):
            return "$" if end else "^"
        case Concat(parts):
            return " ".join(f"({written(p)})" if isinstance(p, Alternate) else written(p) for p in parts)
        case Alternate(parts):
            return " | ".join(map(written, parts))
        case Permute(parts):
            return f"PERMUTE({', '.join(map(written, parts))})"
        case Exclude(part):
            return f"{{- {written(part)} -}}"
        case Repeat(part, low, high, greedy):
            simple = isinstance(part, Variable | Empty | Anchor | Permute | Exclude)
            return (
                (written(part) if simple else f"({written(part)})") + _quantifier(low, high) + ("" if greedy else "?")
            )


def _quantifier(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{,{high}}}" if low == 0 else f"{{{low},{high}}}"


def make_clause(random: Random, streaming: bool, orders: tuple[str, ...] = ("ts, n", "ts, n DESC", "ts")) -> Clause:
    """Make a clause that the product takes; over a stream without what is refused there."""
    pattern = _pattern(random, random.choice((1, 2, 3, 4, 5, 6)), anchors=(False,) if streaming else (False, True))
    variables = tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Variable)))
    if not variables:
        pattern, variables = Concat((pattern, Variable("A"))), ("A",)
    unions = {"U": tuple(random.sample(variables, random.randint(1, len(variables))))} if random.random() < 0.4 else {}
    names = (None, *variables, *unions)
    defines = {}
    for name in variables:
        kind, maker = random.random(), _Maker(random, names, define=True)
        if kind < 0.3:
            defines[name] = _single_row(random, name)
        elif kind < 0.45:
            defines[name] = maker.condition()
        elif kind < 0.7:
            defines[name] = Operation(maker.condition(), random.choice(("OR", "OR", "AND")), _single_row(random, name))
    within = random.choice((None, None, None, 1, 2, 4, 7))
    timeouts = within is not None and random.random() < 0.5
    all_rows = random.random() < 0.5
    empty = random.choice(("", *_empties(pattern))) if all_rows else ""
    skip = _skip(random, [name for name in names if name])
    maker = _Maker(random, names, define=False, timeouts=timeouts)
    measures = tuple(maker.any() for _ in range(random.randint(0, 3)))
    order = random.choice(orders)
    return Clause(pattern, variables, order, unions, defines, measures, all_rows, empty, timeouts, *skip, within)


def _pattern(random: Random, size: int, anchors: tuple[bool, ...]) -> Pattern:
    """Make a pattern of about so many leaves."""
    if size <= 1:
        kind = random.random()
        leaf = Empty() if kind > 0.95 else Anchor(random.choice(anchors)) if kind > 0.88 else None
        leaf = leaf or Variable(random.choice(NAMES))
        return _quantified(random, leaf) if random.random() < 0.5 else leaf
    kind = random.random()
    if kind < 0.08:
        return Exclude(_pattern(random, size - 1, anchors))
    if kind < 0.2:
        return _quantified(random, _pattern(random, size - 1, anchors))
    cut = random.randint(1, size - 1)
    parts = _pattern(random, cut, anchors), _pattern(random, size - cut, anchors)
    if kind > 0.9:
        return Permute(parts)
    kind = Alternate if kind > 0.65 else Concat
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    whole = kind(tuple(flat))
    return _quantified(random, whole) if random.random() < 0.3 else whole


def _quantified(random: Random, part: Pattern) -> Repeat:
    low, high = random.choice(((0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, 3), (2, None), (1, 1)))
    return Repeat(part, low, high, random.random() < 0.6)


def _empties(pattern: Pattern) -> list[str]:
    excluded = any(isinstance(node, Exclude) for node in walk(pattern))
    unmatched = [] if excluded else ["WITH UNMATCHED ROWS"]
    return ["SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", *unmatched]


def _skip(random: Random, names: list[str]) -> tuple[str, str | None]:
    if random.random() < 0.6:
        return random.choice(("", "PAST LAST ROW", "TO NEXT ROW")), None
    name = random.choice(names)
    return f"{random.choice(('TO FIRST', 'TO LAST', 'TO'))} {name}", name


def _single_row(random: Random, variable: str | None) -> Expression:
    """Make a condition that reads the last row of a variable; in its own DEFINE that is the row under test."""
    column = Column(random.choice("xy"), random.choice((None, variable)))
    simple = Operation(column, random.choice(("=", "<>", "<", ">=")), Literal(random.choice((0, 1, 1, 2, 2, 3))))
    kind = random.random()
    if kind < 0.2:
        return Operation(Column("s"), "=", Literal(random.choice("pq")))
    return Operation(simple, random.choice(("AND", "OR")), _single_row(random, variable)) if kind < 0.4 else simple


@dataclass(frozen=True)
class _Maker:
    """Makes expressions of DEFINE or MEASURES over these variables (None: all rows of the match)."""

    random: Random
    names: tuple
    define: bool
    timeouts: bool = False

    def any(self) -> Expression:
        kind = self.random.random()
        if kind < 0.05:
            return Call("MATCH_ROWTIME")
        return self.number() if kind < 0.6 else self.text() if kind < 0.85 else self.condition()

    def number(self) -> Expression:
        if self.random.random() < 0.2:
            return Operation(self.simple(), self.random.choice("+-"), self.simple())
        return self.simple()

    def simple(self) -> Expression:
        kind = self.random.random()
        if kind < 0.45:
            return self.navigation(self.argument())
        if kind < 0.85:
            return self.aggregate()
        if kind < 0.93:
            return Column("y", self.name())
        return Call("MATCH_NUMBER")

    def text(self) -> Expression:
        kind = self.random.random()
        if kind < 0.2:
            return Classifier(self.name())
        if kind < 0.6:
            return self.navigation(Classifier(self.name()))
        if kind < 0.85:
            return self.navigation(Column("s", self.name()))
        function = self.random.choice(("MIN", "MAX"))
        return Aggregate(function, self.labelled(Column("s", self.name())), semantics=self.semantics())

    def labelled(self, column: Column) -> Expression:
        """Make the text of a row, often with the variable of the row in it."""
        label = Classifier(column.variable)
        return self.random.choice((column, label, Operation(label, "||", column), Operation(column, "||", label)))

    def condition(self, depth: int = 3) -> Expression:
        kind = self.random.random()
        if kind < 0.35 and depth:
            sign = self.random.choice(("AND", "OR"))
            return Operation(self.condition(depth - 1), sign, self.condition(depth - 1))
        if kind < 0.45 and depth:
            return Not(self.condition(depth - 1))
        if kind < 0.5:
            return IsNull(self.random.choice((self.number, self.text))())
        if kind < 0.52 and self.timeouts:
            return Call("MATCH_TIMEOUT")
        if kind < 0.65:
            return _single_row(self.random, self.name())
        return self.compared()

    def compared(self) -> Expression:
        sign = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
        if self.random.random() < 0.3:
            return Operation(self.text(), sign, self.random.choice((Literal(self.random.choice("ABCpq")), self.text())))
        right = Literal(self.random.randint(0, 3)) if self.random.random() < 0.6 else self.number()
        return Operation(self.number(), sign, right)

    def argument(self) -> Expression:
        """Make what is computed from one row: a number, all of its columns of one variable."""
        name = self.name()
        x, y = Column("x", name), Column("y", name)
        return self.random.choice((x, x, y, Operation(x, "+", y), Operation(y, "-", Literal(1))))

    def navigation(self, argument: Expression) -> Expression:
        kind = self.random.random()
        if kind < 0.6:
            argument = Logical(self.random.choice(("FIRST", "LAST")), argument, self.distance(), self.semantics())
        if kind > 0.4:
            return Physical(self.random.choice(("PREV", "NEXT")), argument, self.distance())
        return argument

    def aggregate(self) -> Expression:
        kind, words = self.random.random(), self.semantics()
        if kind < 0.2:
            return Aggregate("COUNT", None, self.name(), semantics=words)
        if kind < 0.3:
            return Aggregate("COUNT_IF", self.tested(), semantics=words)
        if kind < 0.4:
            return Aggregate("COUNT", self.labelled(Column("s", self.name())), None, self.random.random() < 0.7, words)
        if kind < 0.45:
            function = self.random.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
            return Aggregate(function, Call("MATCH_NUMBER"), None, self.random.random() < 0.3, words)
        function = self.random.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
        return Aggregate(function, self.argument(), None, self.random.random() < 0.3, words)

    def tested(self) -> Expression:
        """Make what is true or false of a row, and may ask for its variable."""
        name = self.name()
        test = Operation(Column("x", name), ">", Literal(1))
        named = Operation(Classifier(name), self.random.choice(("=", "<>", ">")), Literal(self.random.choice("AB")))
        return self.random.choice((test, named, Operation(test, self.random.choice(("AND", "OR")), named)))

    def distance(self) -> int | None:
        return self.random.choice((None, None, 0, 1, 1, 2))

    def semantics(self) -> str:
        return self.random.choice(("", "", "RUNNING") if self.define else ("", "RUNNING", "FINAL"))

    def name(self) -> str | None:
        return self.random.choice(self.names)


def make_rows(random: Random, order: str, ties: bool = False) -> list[dict]:
    """Make rows in ORDER BY order; unless `ties`, times differ where "ts" is all of ORDER BY."""
    made, time = [], 0
    for n in range(random.randint(0, 14)):
        time += random.choice((0, 0, 1, 2) if ties or order != "ts" else (1, 1, 2)) * SECOND
        values = {"x": random.choice((None, 0, 1, 2, 3)), "y": random.randint(0, 3), "s": random.choice((None, *"pqA"))}
        made.append({"k": random.choice(("a", "a", "a", "b", None)), "ts": time, "n": n, **values})
    if order.endswith("DESC"):
        made.sort(key=lambda row: (row["ts"], -row["n"]))
    return made
