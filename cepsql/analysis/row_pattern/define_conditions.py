"""DEFINE conditions: parts that read only the row go to Spark as predicates, the rest becomes a scalar program."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall, aggregate_call, is_aggregate
from cepsql.analysis.row_pattern.condition_aggregates import lower_condition_aggregate
from cepsql.analysis.row_pattern.scope import (
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
)
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.constant_intervals import interval_micros, interval_type
from cepsql.analysis.sql.fleeting import is_fleeting
from cepsql.analysis.sql.function_calls import spoken_function
from cepsql.analysis.sql.guards import Guard, guards, may_fail
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.strict import is_strict
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, answer
from cepsql.pattern.leaf_types import typed_condition
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchNumber, Navigation, Scalar
from cepsql.scalar.expressions import Call, Literal, Parameter, Session
from cepsql.scalar.from_sql import lambda_form, literal, operation_form, plainer
from cepsql.scalar.registry import REGISTRY
from cepsql.scalar.types import UNKNOWN, Type, parse_type

# These are put together here even if they read only one row: that takes fewer travelling columns.
_ALWAYS = {
    "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "nseq", "in", "isnull", "case", "coalesce", "greatest",
    "least", "map", "add", "sub", "mul", "div", "mod", "neg", "abs",
}  # fmt: skip
_BOOLEANS = (exp.Predicate, exp.Connector, exp.Not)
_SETS = ("ARRAYUNIQUEAGG", "COLLECT_SET")
_OF_LISTS: dict[str, tuple[str, tuple]] = {
    **dict.fromkeys(("STD", "STDDEV", "STDDEVSAMP", "STDDEV_SAMP"), ("stddev_samp", ())),
    **dict.fromkeys(("STDDEVPOP", "STDDEV_POP"), ("stddev_pop", ())),
    **dict.fromkeys(("VARIANCE", "VAR_SAMP"), ("var_samp", ())),
    **dict.fromkeys(("VARIANCEPOP", "VAR_POP"), ("var_pop", ())),
    **dict.fromkeys(("QUANTILE", "PERCENTILE"), ("percentile", ())), "MEDIAN": ("percentile", (0.5,)),
    **dict.fromkeys(("BITWISEANDAGG", "BIT_AND"), ("bit_and", ())),
    **dict.fromkeys(("BITWISEORAGG", "BIT_OR"), ("bit_or", ())),
    **dict.fromkeys(("BITWISEXORAGG", "BIT_XOR"), ("bit_xor", ())),
    **{name.upper(): (name, ()) for name in ("kurtosis", "skewness", "mode")},
    **dict.fromkeys(("GROUPCONCAT", "LISTAGG", "STRING_AGG"), ("listagg", ())),
}  # fmt: skip
"""What an aggregate over the list of its values is called in the registry, and further arguments."""

_ORDERLESS = (exp.ArraySize, exp.ArrayContains, exp.ArrayMax, exp.ArrayMin, exp.ArraySort)


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
    lowering = _Lowering(variable, scope, traveling)
    lowered = lowering.lower(condition, positive=True)
    lowering.check(lowered)
    return lowered


def lower_value(expression: exp.Expr, variable: int, scope: MatchScope, traveling: Traveling) -> Scalar:
    """Turn an expression, as it may stand in the DEFINE condition of a variable, into a scalar program.

    Raises as `lower_condition`.
    """
    return _Lowering(variable, scope, traveling).lower(expression, positive=False)


def compares_with_itself(condition: exp.Expr, variable: int, scope: MatchScope) -> bool:
    """Tell whether a condition asks a row to differ from itself, as `A.x > LAST(A.x)` does in A's condition."""
    lowering = _Lowering(variable, scope, Traveling())
    for node in condition.find_all(exp.GT, exp.LT, exp.NEQ):
        rows = lowering.rows(node.left), lowering.rows(node.right)
        if rows[0] and rows[0] == rows[1] and scope.row_sql(node.left) == scope.row_sql(node.right):
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
        if isinstance(node, exp.Query | exp.Exists | exp.Subquery) and not _has_no_query(node):
            raise NotSupportedError("a subquery in DEFINE is not supported", span_of(node, scope.place))
        if is_fleeting(node):
            raise ProgrammingError(
                f"{spoken_function(node)} gives another value on every run, so it may not stand in DEFINE",
                span_of(node, scope.place),
                "a query must find the same matches when it is replayed",
            )
        if isinstance(node, exp.Placeholder):
            raise ProgrammingError(
                f"no value was given for :{node.this}", scope.place, "pass args={...}, or -v NAME=VALUE"
            )


def _has_no_query(node: exp.Expr) -> bool:
    """Tell whether a node that looks like a subquery is none: EXISTS of an array, or brackets around a column."""
    return isinstance(node.this, exp.Column) or lambda_form(node) is not None


class _Lowering:
    """Lowers one condition; `variable` is the variable that it defines."""

    def __init__(self, variable: int, scope: MatchScope, traveling: Traveling):
        self.variable, self.scope, self.traveling = variable, scope, traveling
        self.types: defaultdict[str, Type] = defaultdict(lambda: UNKNOWN)
        # By id, each beside the node that has it: every part of a condition is asked for again at each level above.
        self._rows: dict[int, tuple[exp.Expr, set[RowRef] | None]] = {}
        self.parameters: dict[str, Parameter] = {}
        self._places: dict[int, tuple[exp.Expr, Span | None]] = {}
        self._guards: tuple[Callable[[], Iterator[Guard]], ...] = ()

    def check(self, lowered: Scalar) -> None:
        """Refuse what is not computed on the types of the columns, as far as they are known before Spark is asked.

        Raises NotSupportedError.
        """
        lenient = answer(lambda: typed_condition(lowered, self.types, Session(ansi=False)))
        if isinstance(lenient, Error) and isinstance(
            answer(lambda: typed_condition(lowered, self.types, Session(ansi=True))), Error
        ):
            raise lenient

    def lower(self, node: exp.Expr, positive: bool) -> Scalar:
        """Lower an expression; `positive` says that NULL may be taken for false here."""
        node = node.unnest()
        if _is_parameter(node):
            return self.parameters[node.name]
        rows = self.rows(node)
        if rows == {LAST_ROW} and positive and self._may_be_boolean(node):
            return Bit(self.traveling.predicate(self._guarded(self.scope.row_expression(node), LAST_ROW)))
        if rows is not None and len(rows) == 1 and not isinstance(node, exp.And | exp.Or):
            (row,) = rows
            if row == LAST_ROW or row_of(node, self.scope) is not None or _is_strict(node):
                return self._value(node, row)
        if rows == set() and not isinstance(node, exp.Interval):
            return self._constant(node)
        return self._operation(node, positive)

    def _may_be_boolean(self, node: exp.Expr) -> bool:
        return isinstance(node, _BOOLEANS) or self.scope.type_of(node) in ("boolean", "unknown")

    def rows(self, node: exp.Expr) -> set[RowRef] | None:
        """Return the rows that an expression reads, None if it reads more than values of rows."""
        if id(node) not in self._rows:
            self._rows[id(node)] = node, self._rows_of(node)
        return self._rows[id(node)][1]

    def _rows_of(self, node: exp.Expr) -> set[RowRef] | None:
        name = navigation_name(node)
        if is_aggregate(node) or _is_parameter(node):
            return None
        if isinstance(node, exp.Lambda):
            return self._rows_of_lambda(node)
        if name in MATCH_FUNCTIONS:
            return None
        row = row_of(node, self.scope)
        if row is not None:
            if any(navigation_name(n) == "CLASSIFIER" for n in node.walk()):
                return None
            return {self._canonical(row)}
        refs: set[RowRef] = set()
        name = node.this if isinstance(node, exp.Anonymous) else None
        for child in node.iter_expressions():
            # The name of a function in backquotes is an expression, too.
            if child is name:
                continue
            rows = self.rows(child)
            if rows is None:
                return None
            refs |= rows
        return refs

    def _rows_of_lambda(self, node: exp.Lambda) -> set[RowRef] | None:
        """Return the rows that a function reads beside its parameters."""
        names = {parameter.name for parameter in node.expressions}
        copy = node.this.copy()
        for inner in list(copy.walk()):
            if _is_parameter(inner) and inner.name in names:
                inner.replace(exp.null())
        return self._rows_of(exp.null() if _is_parameter(copy) and copy.name in names else copy)

    def _canonical(self, row: RowRef) -> RowRef:
        """Name the row under test always in the same way: it is the last row of the variable being defined."""
        if row.variables is not None and self.variable in row.variables and not row.first and row.offset == 0:
            return replace(row, variables=None)
        return row

    def _value(self, node: exp.Expr, row: RowRef) -> Navigation:
        expression = self.scope.row_expression(node)
        sql = self._guarded(expression, row)
        column = self.traveling.value(sql)
        self._note_type(column, expression)
        if row_of(node, self.scope) is None and sql == sql_of(expression):
            self.traveling.computed.add(column)
        return Navigation(column, row.variables, row.first, row.offset, row.shift)

    def _guarded(self, expression: exp.Expr, row: RowRef) -> str:
        """Return the Spark SQL of an expression of a row that is no error where the condition does not need it.

        Spark computes it for every row. Where other conditions on the row decide without it, it is NULL.
        """
        sql = sql_of(expression)
        reads = self._guards and expression.find(exp.Column) is not None
        if not (reads and may_fail(expression, self.scope.type_of)):
            return sql
        row_guards = [
            guard for guards_of in self._guards for guard in guards_of() if self.rows(guard.condition) == {row}
        ]
        if not row_guards:
            return sql
        conditions = " AND ".join(f"({self.scope.row_sql(guard.condition)}) IS {guard.truth}" for guard in row_guards)
        return f"CASE WHEN {conditions} THEN {sql} END"

    def _note_type(self, column: str, read: exp.Expr) -> None:
        """Remember the type of a column of the input; of what is computed only Spark knows it."""
        if isinstance(read, exp.Column):
            self.types[column] = parse_type(self.scope.columns[read.name.lower()][1])

    def _constant(self, node: exp.Expr) -> Scalar:
        constant = literal(node)
        if constant is not None:
            return constant
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
            if call.name in _SETS:
                return self._set(call, node)
            if _is_of_list(call):
                return self._statistic(call)
            lowered = lower_condition_aggregate(call, self.scope, self.traveling)
            column = getattr(lowered, "column", None)
            if isinstance(column, str) and call.filter is None and len(call.arguments) == 1:
                self._note_type(column, self.scope.row_expression(call.arguments[0]))
            return lowered
        reads = name in ("CLASSIFIER", FIRST, LAST, "PREV", "NEXT")
        if reads and any(navigation_name(n) == "CLASSIFIER" for n in node.walk()):
            return self._classifier(node)
        if isinstance(node, exp.And | exp.Or):
            return self._call(node.key, [node.left, node.right], node, positive)
        if isinstance(node, exp.Interval):
            micros = interval_micros(node, span_of(node, self.scope.place))
            return Literal(micros, interval_type(node))
        if isinstance(node, exp.Cast | exp.TryCast):
            operation = "try_cast" if node.args.get("safe") and isinstance(node, exp.TryCast) else "cast"
            target = sql_of(node.to).lower()
            return Call(operation, (self.lower(node.this, False),), target, span_of(node, self.scope.place))
        plain = plainer(node)
        if plain is not None:
            return self.lower(plain, positive)
        form = operation_form(node)
        if form is not None and form[0] in _ALWAYS:
            return self._call(*form, node)
        rows = self.rows(node)
        if rows is not None and len(rows) == 1:
            return self._of_one_row(node, *rows)
        with_lambda = lambda_form(node)
        if with_lambda is not None:
            return self._of_elements(*with_lambda, self._place(node))
        if form is not None and form[0] in REGISTRY:
            return self._call(*form, node)
        raise NotSupportedError(
            f"{spoken_function(node)} cannot be evaluated on values of several rows in DEFINE",
            span_of(node, self.scope.place),
            "any function of a single row can, and many of several; the documentation of row patterns lists them",
        )

    def _call(self, operation: str, arguments: list[exp.Expr], node: exp.Expr, positive: bool = False) -> Call:
        lowered, outer = [], self._guards
        for place, argument in enumerate(arguments):
            # They are looked at only where something may fail.
            self._guards = (*outer, partial(guards, operation, arguments, place)) if place else outer
            lowered.append(self.lower(argument, positive))
            self._guards = outer
        return Call(operation, tuple(lowered), place=self._place(node))

    def _place(self, node: exp.Expr) -> Span | None:
        """Return where an expression stands; that of a long AND is put together from those of its sides."""
        if not isinstance(node, exp.And | exp.Or):
            return span_of(node, self.scope.place)
        if id(node) not in self._places:
            sides = [place for place in map(self._place, (node.left, node.right)) if place is not None]
            whole = Span(min(p.start for p in sides), max(p.end for p in sides)) if sides else None
            self._places[id(node)] = node, whole
        return self._places[id(node)][1]

    def _of_elements(self, operation: str, array: exp.Expr, function: exp.Lambda, place: Span | None) -> Call:
        """Lower a call of a function for each element of an array."""
        values, outer = self.lower(array, False), self.parameters
        # Of equal names the innermost counts.
        added = {p.name: Parameter(f"{p.name}{len(outer) + i}") for i, p in enumerate(function.expressions)}
        self.parameters = outer | added
        body = self.lower(function.this, False)
        self.parameters = outer
        return Call(operation, (values, *added.values(), body), place=place)

    def _set(self, call: AggregateCall, node: exp.Expr) -> Scalar:
        """Lower COLLECT_SET where the order of its elements, which Spark leaves open, does not matter."""
        if not isinstance(node.parent, _ORDERLESS):
            raise NotSupportedError(
                f"{spoken_function(call.function)} in DEFINE is supported only where the order of its elements does "
                "not matter",
                span_of(call.function, self.scope.place),
                "size, array_contains, array_max, array_min and sort_array of it are",
            )
        return Call("array_distinct", (self._list(call),))

    def _statistic(self, call: AggregateCall) -> Scalar:
        """Lower an aggregate that is computed from the list of its values, with constants behind the first argument."""
        operation, constants = _OF_LISTS[call.name]
        values: Scalar = self._list(call)
        if call.distinct:
            values = Call("array_distinct", (values,))
        further = tuple(self.lower(argument, positive=False) for argument in call.arguments[1:])
        return Call(operation, (values, *further, *map(Literal, constants)), place=self._place(call.function))

    def _list(self, call: AggregateCall) -> Scalar:
        """Lower the list of the values that an aggregate reads."""
        argument = call.arguments[0]
        listed = replace(call, function=exp.ArrayAgg(this=argument.copy()), name="ARRAY_AGG")
        lowered = lower_condition_aggregate(listed, self.scope, self.traveling)
        if isinstance(lowered, Aggregate) and isinstance(lowered.column, str) and call.filter is None:
            self._note_type(lowered.column, self.scope.row_expression(argument))
        return lowered

    def _of_one_row(self, node: exp.Expr, row: RowRef) -> Scalar:
        """Lower a function of one other row, whose value Spark computes: for that row, and for the case of no row."""
        there = Navigation(self.traveling.value("TRUE"), row.variables, row.first, row.offset, row.shift)
        missing = Navigation(self.traveling.value(self._without_row(node)))
        return Call("case", (Call("isnull", (there,)), missing, self._value(node, row)))

    def _without_row(self, node: exp.Expr) -> str:
        """Return the Spark SQL of an expression whose columns are NULL, each of its own type."""

        def null(column: exp.Expr) -> exp.Expr:
            if not isinstance(column, exp.Column):
                return column
            return exp.Case(ifs=[exp.If(this=exp.false(), true=column.copy())])

        return sql_of(self.scope.row_expression(node).transform(null))

    def _classifier(self, node: exp.Expr) -> Scalar:
        if navigation_name(node) == "CLASSIFIER":
            ref: RowRef | None = classifier_row(node, self.scope)
        else:
            ref = row_of(node, self.scope)
        # A navigation reads a row.
        assert ref is not None
        row = self._canonical(ref)
        if row == LAST_ROW:
            return Literal(self.scope.variables[self.variable])
        if row.shift > 0 and replace(row, shift=0) == LAST_ROW:
            # The variable of a later row is not known while the match is being built.
            return Literal(None)
        return Classifier(row.variables, row.first, row.offset, row.shift)


def _is_parameter(node: exp.Expr) -> bool:
    """Tell whether a node is a parameter of a function: sqlglot has a name alone for it, and no column."""
    return isinstance(node, exp.Identifier) and not isinstance(node.parent, exp.Column | exp.Dot | exp.Table)


def _is_of_list(call: AggregateCall) -> bool:
    """Tell whether an aggregate is computed from a list; of different values only where their order does not matter."""
    if call.name not in _OF_LISTS or call.order is not None or call.nulls:
        return False
    return not call.distinct or _OF_LISTS[call.name][0] == "percentile"


def _is_strict(node: exp.Expr) -> bool:
    """Tell whether an expression of one row is NULL if there is no such row."""
    reads = (FIRST, LAST, "PREV", "NEXT")
    nodes = node.walk(prune=lambda n: navigation_name(n) in reads)
    return all(is_strict(n) or isinstance(n, exp.Column) or navigation_name(n) in reads for n in nodes)
