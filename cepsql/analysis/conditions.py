"""DEFINE conditions: parts that read only the row go to Spark as predicates, the rest becomes a scalar program."""

from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from cepsql.analysis.aggregate_calls import aggregate_call, is_aggregate
from cepsql.analysis.condition_aggregates import lower_condition_aggregate
from cepsql.analysis.condition_functions import function_form, plainer
from cepsql.analysis.intervals import interval_micros
from cepsql.analysis.plain_sql import sql_of
from cepsql.analysis.positions import span_of
from cepsql.analysis.scope import (
    FINAL,
    FIRST,
    LAST,
    LAST_ROW,
    MATCH_FUNCTIONS,
    RUNNING,
    MatchScope,
    RowRef,
    classifier_row,
    navigation_name,
    no_arguments,
    row_of,
    semantics_argument,
    spoken_function,
)
from cepsql.analysis.traveling import Traveling
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.pattern.program import (
    Bit,
    Call,
    Classifier,
    Literal,
    MatchNumber,
    Navigation,
    Scalar,
)

_BINARY = {
    exp.And: "and", exp.Or: "or", exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt",
    exp.GTE: "ge", exp.NullSafeEQ: "nseq", exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div",
    exp.Mod: "mod",
}  # fmt: skip
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "nseq"}
# NULL for a missing row stays NULL through these, so they may be computed on the row before the shuffle.
_STRICT = (
    exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.TryCast, exp.Abs, exp.Interval,
    exp.Literal, exp.Identifier, exp.DataType, exp.Var, exp.Upper, exp.Lower, exp.Length, exp.Round, exp.Floor,
    exp.Ceil, exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Trim, exp.Substring, exp.Date, exp.Year, exp.Month, exp.Day,
    exp.Extract, exp.DateDiff, exp.TimestampTrunc, exp.TsOrDsAdd, exp.Bracket, exp.Dot, exp.IntervalSpan,
    exp.Hour, exp.Minute, exp.Second, exp.DayOfWeek, exp.DayOfMonth, exp.DayOfYear, exp.WeekOfYear, exp.Quarter,
    exp.Like, exp.ILike, exp.RegexpLike, exp.StartsWith, exp.EndsWith, exp.Contains, exp.DPipe, exp.Concat, exp.Left,
    exp.Right, exp.Replace, exp.Reverse, exp.StrPosition, exp.Repeat, exp.Pad, exp.Translate, exp.Log, exp.Sin, exp.Cos,
    exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Atan2, exp.Radians, exp.Degrees, exp.Sign, exp.IntDiv, exp.BitwiseAnd,
    exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.TimestampDiff, exp.TsOrDsToDate, exp.Cbrt, exp.UnixMicros,
)  # fmt: skip
_NONDETERMINISTIC = (exp.Rand, exp.Randn, exp.CurrentTimestamp, exp.CurrentDate, exp.Uuid)
_NONDETERMINISTIC_NAMES = {"UUID", "NOW", "RANDOM", "MONOTONICALLY_INCREASING_ID", "SHUFFLE"}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def lower_condition(condition: exp.Expr, variable: int, scope: MatchScope, traveling: Traveling) -> Scalar:
    """Turn the DEFINE condition of a variable into a scalar program; Spark's share goes into `traveling`.

    Raises ProgrammingError for names, types and calls that are wrong there, NotSupportedError for functions that
    cannot be evaluated on the match so far.
    """
    _refuse(condition, scope)
    kind = scope.type_of(condition)
    if kind not in ("boolean", "unknown"):
        raise ProgrammingError(
            f"the condition of {scope.variables[variable]} is of type {kind}, not boolean",
            span_of(condition, scope.place),
            "a DEFINE condition is true or false for a row, like A.price > 10",
        )
    return _Lowering(variable, scope, traveling).lower(condition, positive=True)


def lower_value(expression: exp.Expr, variable: int, scope: MatchScope, traveling: Traveling) -> Scalar:
    """Turn an expression, as it may stand in the DEFINE condition of a variable, into a scalar program.

    Raises as `lower_condition`.
    """
    return _Lowering(variable, scope, traveling).lower(expression, positive=False)


def compares_with_itself(condition: exp.Expr, variable: int, scope: MatchScope) -> bool:
    """Tell whether a condition asks a row to differ from itself, as `A.x > LAST(A.x)` does in A's condition."""
    lowering = _Lowering(variable, scope, Traveling())
    for node in condition.find_all(exp.GT, exp.LT, exp.NEQ):
        same = scope.row_sql(node.left) == scope.row_sql(node.right)
        rows = lowering.rows(node.left), lowering.rows(node.right)
        if same and rows[0] and rows[0] == rows[1]:
            return True
    return False


def _refuse(condition: exp.Expr, scope: MatchScope) -> None:
    for node in condition.walk():
        name = navigation_name(node)
        if name == FINAL:
            raise ProgrammingError(
                "FINAL may not stand in DEFINE",
                span_of(node, scope.place),
                "a condition sees the match so far: RUNNING",
            )
        if name in ("MATCH_TIMEOUT", "MATCH_ROWTIME", "MATCH_ID"):
            raise ProgrammingError(
                f"{name}() may not stand in DEFINE", span_of(node, scope.place), "it is known when a match is found"
            )
        if name == "MATCH_NUMBER":
            no_arguments(node, scope)
        if isinstance(node, exp.Window):
            raise NotSupportedError(
                "a window function in DEFINE is not supported",
                span_of(node, scope.place),
                "PREV and NEXT read neighbours; aggregates are over the rows of the match so far",
            )
        if isinstance(node, exp.Query | exp.Exists | exp.Subquery) and not isinstance(node.this, exp.Column):
            raise NotSupportedError("a subquery in DEFINE is not supported", span_of(node, scope.place))
        if isinstance(node, _NONDETERMINISTIC) or name in _NONDETERMINISTIC_NAMES:
            raise ProgrammingError(
                f"{spoken_function(node)} gives another value on every run, so it may not stand in DEFINE",
                span_of(node, scope.place),
                "a query must find the same matches when it is replayed",
            )
        if isinstance(node, exp.Placeholder):
            raise ProgrammingError(
                f"no value was given for :{node.this}", scope.place, "pass args={...}, or -v NAME=VALUE"
            )


class _Lowering:
    """Lowers one condition; `variable` is the variable that it defines."""

    def __init__(self, variable: int, scope: MatchScope, traveling: Traveling):
        self.variable, self.scope, self.traveling = variable, scope, traveling

    def lower(self, node: exp.Expr, positive: bool) -> Scalar:
        """Lower an expression; `positive` says that NULL may be taken for false here."""
        node = node.unnest()
        rows = self.rows(node)
        if rows == {LAST_ROW} and positive and self.scope.type_of(node) in ("boolean", "unknown"):
            return Bit(self.traveling.predicate(self.scope.row_sql(node)))
        if rows is not None and len(rows) == 1 and not isinstance(node, exp.And | exp.Or):
            (row,) = rows
            if row == LAST_ROW or row_of(node, self.scope) is not None or _is_strict(node):
                return self._value(node, row)
        if rows == set() and not isinstance(node, exp.Interval):
            return self._constant(node)
        return self._operation(node, positive)

    def rows(self, node: exp.Expr) -> set[RowRef] | None:
        """Return the rows that an expression reads, None if it reads more than values of rows."""
        name = navigation_name(node)
        if is_aggregate(node):
            return None
        if name in MATCH_FUNCTIONS:
            return None
        row = row_of(node, self.scope)
        if row is not None:
            if any(navigation_name(n) == "CLASSIFIER" for n in node.walk()):
                return None
            return {self._canonical(row)}
        found: set[RowRef] = set()
        for child in node.iter_expressions():
            rows = self.rows(child)
            if rows is None:
                return None
            found |= rows
        return found

    def _canonical(self, row: RowRef) -> RowRef:
        """Name the row under test always in the same way: it is the last row of the variable being defined."""
        if row.variables is not None and self.variable in row.variables and not row.first and row.offset == 0:
            return replace(row, variables=None)
        return row

    def _value(self, node: exp.Expr, row: RowRef) -> Navigation:
        return Navigation(
            self.traveling.value(self.scope.row_sql(node)), row.variables, row.first, row.offset, row.shift
        )

    def _constant(self, node: exp.Expr) -> Scalar:
        match node:
            case exp.Null():
                return Literal(None)
            case exp.Boolean():
                return Literal(bool(node.this))
            case exp.Literal() if node.is_string:
                return Literal(node.this)
            case exp.Literal():
                return Literal(int(node.this) if node.this.isdigit() else float(node.this))
            case exp.Neg() if isinstance(node.this, exp.Literal):
                return Literal(-self._constant(node.this).value)
        # Spark computes other constants; they travel with the row under test.
        return self._value(node, LAST_ROW)

    def _operation(self, node: exp.Expr, positive: bool) -> Scalar:
        name = navigation_name(node)
        if name == RUNNING:
            return self.lower(semantics_argument(node, self.scope), positive)
        if name == "MATCH_NUMBER":
            return MatchNumber()
        call = aggregate_call(node)
        if call is not None:
            return lower_condition_aggregate(call, self.scope, self.traveling)
        reads = name in ("CLASSIFIER", FIRST, LAST, "PREV", "NEXT")
        if reads and any(navigation_name(n) == "CLASSIFIER" for n in node.walk()):
            return self._classifier(node)
        operation = _BINARY.get(type(node))
        if operation in ("and", "or"):
            return self._call(operation, [self.lower(node.left, positive), self.lower(node.right, positive)], "boolean")
        if operation in _COMPARISONS:
            left, right = self._alike(node.left, node.right)
            return self._call(operation, [left, right], "boolean")
        if operation:
            return self._arithmetic(operation, node)
        return self._other(node)

    def _other(self, node: exp.Expr) -> Scalar:
        kind = self.scope.type_of(node)
        match node:
            case exp.Interval():
                return Literal(interval_micros(node, span_of(node, self.scope.place)))
            case exp.Not():
                return self._call("not", [self.lower(node.this, False)], "boolean")
            case exp.Neg():
                return self._call("neg", [self.lower(node.this, False)], kind)
            case exp.Abs():
                return self._call("abs", [self.lower(node.this, False)], kind)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._call("isnull", [self.lower(node.this, False)], "boolean")
            case exp.NullSafeNEQ():
                left, right = self._alike(node.left, node.right)
                return self._call("not", [self._call("nseq", [left, right], "boolean")], "boolean")
            case exp.Between():
                low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
                high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
                return self._call("and", [self.lower(low, False), self.lower(high, False)], "boolean")
            case exp.In() if node.expressions:
                equal = [
                    self.lower(exp.EQ(this=node.this.copy(), expression=e.copy()), False) for e in node.expressions
                ]
                return self._call("or", equal, "boolean") if len(equal) > 1 else equal[0]
            case exp.Coalesce():
                return self._call("coalesce", [self.lower(e, False) for e in (node.this, *node.expressions)], kind)
            case exp.Greatest() | exp.Least():
                arguments = [self.lower(e, False) for e in (node.this, *node.expressions)]
                return self._call(node.key, arguments, kind)
            case exp.Case() | exp.If():
                return self._case(node, kind)
            case exp.Cast() | exp.TryCast():
                return self._call("cast", [self.lower(node.this, False)], sql_of(node.to).lower())
        if isinstance(node, exp.Like | exp.ILike) and node.args.get("negate"):
            plain = node.copy()
            plain.set("negate", None)
            return self._call("not", [self.lower(plain, False)], "boolean")
        rows = self.rows(node)
        if rows is not None and len(rows) == 1:
            return self._of_one_row(node, *rows)
        plain = plainer(node)
        if plain is not None:
            return self.lower(plain, False)
        form = function_form(node, self.scope.type_of)
        if form is not None:
            return self._call(form.operation, [self._as(e, kind) for e, kind in form.arguments], form.type)
        raise NotSupportedError(
            f"{spoken_function(node)} cannot be evaluated on values of several rows in DEFINE",
            span_of(node, self.scope.place),
            "any function of a single row can, and many of several; the documentation of row patterns lists them",
        )

    def _as(self, node: exp.Expr, kind: str) -> Scalar:
        """Lower an argument, brought to a type where one is given."""
        if isinstance(node, exp.Literal) and not node.is_string and kind in ("int", "double"):
            return Literal(int(node.this) if kind == "int" and node.this.isdigit() else float(node.this))
        given = self.scope.type_of(node)
        return self.lower(node if kind in ("", given) else exp.cast(node.copy(), kind), False)

    def _of_one_row(self, node: exp.Expr, row: RowRef) -> Scalar:
        """Lower a function of one other row, whose value Spark computes: for that row, and for the case of no row."""
        there = Navigation(self.traveling.value("TRUE"), row.variables, row.first, row.offset, row.shift)
        missing = Navigation(self.traveling.value(self._without_row(node)))
        absent = self._call("isnull", [there], "boolean")
        return self._call("case", [absent, missing, self._value(node, row)], self.scope.type_of(node))

    def _without_row(self, node: exp.Expr) -> str:
        """Return the Spark SQL of an expression whose columns are NULL, each of its own type."""

        def null(column: exp.Expr) -> exp.Expr:
            if not isinstance(column, exp.Column):
                return column
            return exp.Case(ifs=[exp.If(this=exp.false(), true=column.copy())])

        return sql_of(self.scope.row_expression(node).transform(null))

    def _case(self, node: exp.Case | exp.If, kind: str) -> Call:
        branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        otherwise = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        subject = node.this if isinstance(node, exp.Case) else None
        arguments = []
        for branch in branches:
            condition = (
                exp.EQ(this=subject.copy(), expression=branch.this.copy()) if subject is not None else branch.this
            )
            arguments += [self.lower(condition, False), self.lower(branch.args["true"], False)]
        arguments.append(Literal(None) if otherwise is None else self.lower(otherwise, False))
        return self._call("case", arguments, kind)

    def _classifier(self, node: exp.Anonymous) -> Scalar:
        if navigation_name(node) == "CLASSIFIER":
            row = self._canonical(classifier_row(node, self.scope))
        else:
            row = self._canonical(row_of(node, self.scope))
        if row == LAST_ROW:
            return Literal(self.scope.variables[self.variable])
        if row.shift > 0 and replace(row, shift=0) == LAST_ROW:
            # The variable of a later row is not known while the match is being built.
            return Literal(None)
        return Classifier(row.variables, row.first, row.offset, row.shift)

    def _arithmetic(self, operation: str, node: exp.Binary) -> Scalar:
        left, right = self.scope.type_of(node.left), self.scope.type_of(node.right)
        if operation == "sub" and left == right == "date":
            days = self._call("sub", [self.lower(node.left, False), self.lower(node.right, False)], "bigint")
            return self._call("mul", [days, Literal(86_400_000_000)], "interval day to second")
        times = [kind.startswith("timestamp") or kind == "date" for kind in (left, right)]
        if any(times):
            sides = [
                exp.cast(e.copy(), "timestamp") if k == "date" else e
                for e, k in zip((node.left, node.right), (left, right), strict=True)
            ]
            kind = "interval day to second" if all(times) else "timestamp"
            return self._call(operation, [self.lower(side, False) for side in sides], kind)
        sides = [self._number(e, kind) for e, kind in ((node.left, left), (node.right, right))]
        result = "double" if operation == "div" and "decimal" not in left + right else self.scope.type_of(node)
        return self._call(operation, self._double_if_mixed(sides, left, right), result)

    def _number(self, node: exp.Expr, kind: str) -> Scalar:
        return self.lower(exp.cast(node.copy(), "double") if kind == "string" else node, False)

    def _alike(self, left: exp.Expr, right: exp.Expr) -> list[Scalar]:
        """Lower two sides of a comparison, brought to one type as Spark does."""
        kinds = self.scope.type_of(left), self.scope.type_of(right)
        families = [_family(kind) for kind in kinds]
        target = None
        if set(families) == {"string", "number"}:
            number = kinds[families.index("number")]
            target = "double" if number.startswith("decimal") else number
        elif set(families) <= {"date", "timestamp", "string"} and len(set(families)) == 2:
            target = "timestamp" if "timestamp" in families else "date"
        if target:
            left, right = (
                e if f in (target, "number") else exp.cast(e.copy(), target)
                for e, f in zip((left, right), families, strict=True)
            )
        return self._double_if_mixed([self.lower(left, False), self.lower(right, False)], *kinds)

    def _double_if_mixed(self, sides: list[Scalar], left: str, right: str) -> list[Scalar]:
        """Make decimals doubles where the other side is a float: Spark compares those as doubles."""
        if "decimal" in left + right and any(isinstance(side, Literal) for side in sides):
            # A number with a point is a decimal in Spark.
            return [
                Literal(Decimal(str(s.value))) if isinstance(s, Literal) and s.value is not None else s for s in sides
            ]
        if {left.split("(")[0], right.split("(")[0]} & {"float", "double"}:
            return [
                self._call("cast", [side], "double") if kind.startswith("decimal") else side
                for side, kind in zip(sides, (left, right), strict=True)
            ]
        return sides

    def _call(self, operation: str, arguments: list[Scalar], kind: str) -> Call:
        return Call(operation, tuple(arguments), kind)


def _family(kind: str) -> str:
    base = kind.split("(")[0]
    if base in _NUMBERS:
        return "number"
    return "timestamp" if base.startswith("timestamp") else base


def _is_strict(node: exp.Expr) -> bool:
    """Tell whether an expression of one row is NULL if there is no such row."""
    reads = (FIRST, LAST, "PREV", "NEXT")
    nodes = node.walk(prune=lambda n: navigation_name(n) in reads)
    return all(isinstance(n, (*_STRICT, exp.Column)) or navigation_name(n) in reads for n in nodes)
