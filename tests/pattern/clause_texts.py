"""Random MATCH_RECOGNIZE clauses of every kind, with their text, and random rows for them."""

from dataclasses import dataclass

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
from hypothesis import strategies as st
from strategies import NAMES, patterns

from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable, walk

COLUMNS = "k STRING, ts TIMESTAMP, n INT, x INT, y INT, s STRING"
SECOND = 1_000_000


@dataclass(frozen=True)
class Clause:
    """What one MATCH_RECOGNIZE says.

    order:   ORDER BY; the rows have no ties in it, except in "ts" of `rows(ties=True)`.
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
            return (written(part) if simple else f"({written(part)})") + _quantifier(low, high) + ("" if greedy else "?")


def _quantifier(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{,{high}}}" if low == 0 else f"{{{low},{high}}}"


@st.composite
def clauses(draw, streaming: bool = False, orders: tuple[str, ...] = ("ts, n", "ts, n DESC", "ts")) -> Clause:
    """Clauses that the product takes; over a stream without what is refused there."""
    pattern = draw(patterns(anchors=True).filter(_is_written))
    variables = tuple(name for name in NAMES if Variable(name) in walk(pattern))
    if streaming and Anchor(True) in walk(pattern):
        pattern = Concat((Anchor(False), Repeat(Variable("A"), 0, None)))
        variables = ("A",)
    unions = draw(_unions(variables))
    names = (None, *variables, *unions)
    define = _Expressions(names, within_define=True)
    defines = {
        name: condition
        for name in variables
        if (condition := draw(st.one_of(st.none(), _single_rows(name), define.conditions(), define.conditions())))
    }
    within = draw(st.sampled_from((None, None, 1, 2, 4)))
    timeouts = within is not None and draw(st.booleans())
    all_rows = draw(st.booleans())
    empty = draw(st.sampled_from(("", *_empties(pattern, timeouts)))) if all_rows else ""
    only_default = streaming and "UNMATCHED" in empty
    skip, skip_to = draw(st.just(("", None)) if only_default else _skips(tuple(n for n in names if n)))
    measures = _Expressions(names, within_define=False, timeouts=timeouts)
    return Clause(
        pattern=pattern,
        variables=variables,
        order=draw(st.sampled_from(orders)),
        unions=unions,
        defines=defines,
        measures=tuple(draw(st.lists(measures.any(), max_size=4))),
        all=all_rows,
        empty=empty,
        timeouts=timeouts,
        skip=skip,
        skip_to=skip_to,
        within=within,
    )


def _is_written(pattern: Pattern) -> bool:
    """Tell whether a pattern can be written: the grammar refuses {0}, and a clause needs a variable here."""
    nodes = list(walk(pattern))
    return all(not isinstance(n, Repeat) or n.high != 0 for n in nodes) and any(isinstance(n, Variable) for n in nodes)


def _empties(pattern: Pattern, timeouts: bool) -> list[str]:
    excluded = any(isinstance(node, Exclude) for node in walk(pattern))
    unmatched = [] if excluded or timeouts else ["WITH UNMATCHED ROWS"]
    return ["SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", *unmatched]


def _unions(variables: tuple[str, ...]) -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    members = st.lists(st.sampled_from(variables), min_size=1, max_size=2, unique=True).map(tuple)
    return st.one_of(st.just({}), members.map(lambda found: {"U": found}))


def _skips(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str | None]]:
    fixed = st.sampled_from([("", None), ("PAST LAST ROW", None), ("TO NEXT ROW", None)])
    to = st.tuples(st.sampled_from(("TO FIRST", "TO LAST", "TO")), st.sampled_from(names))
    return st.one_of(fixed, to.map(lambda pair: (f"{pair[0]} {pair[1]}", pair[1])))


def _single_rows(variable: str) -> st.SearchStrategy[Expression]:
    """Conditions that read the row under test only."""
    column = st.builds(Column, st.sampled_from(("x", "y")), st.sampled_from((None, variable)))
    test = st.builds(Operation, column, st.sampled_from(("=", "<>", "<", ">=")), st.integers(0, 3).map(Literal))
    text = st.builds(Operation, st.just(Column("s")), st.just("="), st.sampled_from("pq").map(Literal))
    simple = st.one_of(test, test, text)
    return st.one_of(simple, simple, st.builds(Operation, simple, st.sampled_from(("AND", "OR")), simple))


class _Expressions:
    """Strategies for expressions over these variables (None: all rows of the match)."""

    def __init__(self, names: tuple, within_define: bool, timeouts: bool = False):
        self.names, self.define, self.timeouts = st.sampled_from(names), within_define, timeouts
        words = ("", "", "RUNNING") if within_define else ("", "", "RUNNING", "FINAL", "FINAL")
        self.semantics = st.sampled_from(words)

    def any(self) -> st.SearchStrategy[Expression]:
        return st.one_of(self.numbers(), self.numbers(), self.texts(), self.conditions())

    def numbers(self) -> st.SearchStrategy[Expression]:
        simple = [self.read(self.argument()), self.read(self.argument()), self.aggregates(), self.aggregates()]
        simple += [st.just(Call("MATCH_NUMBER")), self.names.map(lambda name: Column("y", name))]
        if not self.define:
            simple.append(st.just(Call("MATCH_ROWTIME")))
        one = st.one_of(simple)
        return st.one_of(one, one, one, st.builds(Operation, one, st.sampled_from("+-"), one))

    def texts(self) -> st.SearchStrategy[Expression]:
        column = self.names.map(lambda name: Column("s", name))
        classifier = self.names.map(Classifier)
        extreme = st.builds(Aggregate, st.sampled_from(("MIN", "MAX")), column, semantics=self.semantics)
        return st.one_of(self.read(column), classifier, self.read(classifier), self.read(classifier), extreme)

    def conditions(self) -> st.SearchStrategy[Expression]:
        compared = st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
        small = st.integers(0, 3).map(Literal)
        test = st.one_of(
            st.builds(Operation, self.numbers(), compared, st.one_of(small, self.numbers())),
            st.builds(Operation, self.texts(), compared, st.one_of(st.sampled_from("ABCpq").map(Literal), self.texts())),
            self.numbers().map(IsNull),
            self.texts().map(IsNull),
            st.builds(Operation, st.just(Column("x")), compared, small),
            *([st.just(Call("MATCH_TIMEOUT"))] if self.timeouts else []),
        )
        both = st.builds(Operation, test, st.sampled_from(("AND", "OR")), test)
        return st.one_of(test, test, both, both, both.map(Not), test.map(Not))

    def argument(self) -> st.SearchStrategy[Expression]:
        """What is computed from one row: a number, all of its columns of one variable."""

        def of(name):
            x, y = Column("x", name), Column("y", name)
            return st.sampled_from((x, x, y, Operation(x, "+", y), Operation(y, "-", Literal(1))))

        return self.names.flatmap(of)

    def read(self, argument: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        """Navigation, logical, physical or both, and plain columns."""
        offset, amount = st.sampled_from((None, None, 0, 1, 2)), st.sampled_from((None, None, 0, 1, 2))
        logical = st.builds(Logical, st.sampled_from(("FIRST", "LAST")), argument, offset, self.semantics)
        physical = st.builds(Physical, st.sampled_from(("PREV", "NEXT")), st.one_of(argument, logical), amount)
        return st.one_of(logical, physical)

    def aggregates(self) -> st.SearchStrategy[Expression]:
        arguments = self.argument()
        return st.one_of(
            st.builds(
                Aggregate,
                st.sampled_from(("COUNT", "SUM", "AVG", "MIN", "MAX")),
                arguments,
                distinct=st.sampled_from((False, False, True)),
                semantics=self.semantics,
            ),
            st.builds(Aggregate, st.just("COUNT"), st.none(), self.names, semantics=self.semantics),
            st.builds(
                Aggregate,
                st.just("COUNT_IF"),
                st.builds(Operation, self.names.map(lambda name: Column("x", name)), st.just(">"), st.just(Literal(1))),
                semantics=self.semantics,
            ),
        )


@st.composite
def rows(draw, order: str, keys: tuple = ("a", "b", None), max_size: int = 9, ties: bool = False) -> list[dict]:
    """Rows of several partitions in ORDER BY order; unless `ties`, times in a partition differ if "ts" is all of it."""
    found, time = [], 0
    for n in range(draw(st.integers(0, max_size))):
        least = 0 if ties or order != "ts" else 1
        time += draw(st.integers(least, 2)) * SECOND
        values = st.tuples(st.none() | st.integers(0, 3), st.integers(0, 3), st.sampled_from((None, "p", "q", "A")))
        x, y, s = draw(values)
        found.append({"k": draw(st.sampled_from(keys)), "ts": time, "n": n, "x": x, "y": y, "s": s})
    if order.endswith("DESC"):
        found.sort(key=lambda row: (row["ts"], -row["n"]))
    return found
