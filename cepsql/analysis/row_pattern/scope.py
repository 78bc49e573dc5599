"""What the expressions of a MATCH_RECOGNIZE may name, and which row of the match an expression reads."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.schema import MappingSchema

from cepsql.analysis.row_pattern.aggregate_calls import is_aggregate, of_result_type
from cepsql.analysis.sql.brackets import needs_brackets
from cepsql.analysis.sql.function_calls import spoken_name
from cepsql.analysis.sql.plain_sql import declared_type, is_annotated, relation, schema_of, spoken_type, sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.notes import copied
from cepsql.language.statements import NAVIGATION
from cepsql.language.tokens import DIALECT

FIRST, LAST, RUNNING, FINAL = (NAVIGATION[word] for word in ("FIRST", "LAST", "RUNNING", "FINAL"))


@dataclass(frozen=True)
class RowRef:
    """One row of a match, as in `cepsql.pattern.program.Navigation`."""

    variables: frozenset[int] | None = None
    first: bool = False
    offset: int = 0
    shift: int = 0


_TAKEN_OFF = (FIRST, LAST, "PREV", "NEXT", RUNNING, FINAL)

MATCH_FUNCTIONS = ("CLASSIFIER", "MATCH_NUMBER", "MATCH_ROWTIME", "MATCH_TIMEOUT", "MATCH_ID")
"""Calls that ask for the match itself."""

MAX_OFFSET = 2**31 - 1
"""How many rows FIRST, LAST, PREV and NEXT can go, at most."""

_TYPES = dict(zip(MATCH_FUNCTIONS, ("string", "bigint", "timestamp", "boolean", "string"), strict=True))

_ROWS = "__t"
"""The relation of which an expression reads a row."""

_WITH_FIELDS = ("struct", "map", "array", "variant", "unknown")
"""What the types of columns begin with that may have fields."""

LAST_ROW = RowRef()
"""The last row of the match so far; in a condition, the row under test."""


@dataclass(frozen=True)
class MatchScope:
    """The names of one MATCH_RECOGNIZE.

    columns:   of the input: lower-case name to (name as defined, Spark type or "unknown").
    variables: primary variables; their position is their index.
    unions:    SUBSET names to the indexes of their members.
    alias:     of the input relation, lower case.
    place:     where to point if an expression has no position of its own.
    """

    columns: dict[str, tuple[str, str]]
    variables: tuple[str, ...]
    unions: dict[str, frozenset[int]]
    alias: str | None
    place: Span

    def at(self, place: Span) -> "MatchScope":
        """Return the same names for an expression that stands at `place`."""
        return replace(self, place=place)

    def variable_hint(self, name: str) -> str:
        """Return the hint for an unknown variable; names that need quotes are shown with them."""
        return variable_hint(name, [*self.variables, *self.unions])

    def find_variables(self, identifier: exp.Identifier) -> frozenset[int] | None:
        """Return the variables that a name stands for, None if it is no pattern variable."""
        name = identifier.this if identifier.quoted else identifier.this.upper()
        if name in self.variables:
            return frozenset([self.variables.index(name)])
        return self.unions.get(name)

    def resolve(self, column: exp.Column) -> tuple[frozenset[int] | None, exp.Column | exp.Dot]:
        """Split a column into its pattern variable (None for none) and the column of the input, with fields.

        Raises ProgrammingError for unknown variables and columns.
        """
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        variables = None
        if len(parts) > 1 and self._is_qualifier(parts[0], parts[1]):
            variables = self.find_variables(parts[0])
            if variables is None and parts[0].this.lower() != self.alias:
                if not self.variables:
                    hint = f"columns are written alone, or after {self.alias}" if self.alias else None
                    raise ProgrammingError(f"there is no table {parts[0].this} here", span_of(parts[0]), hint)
                raise ProgrammingError(
                    f"there is no pattern variable {parts[0].this}",
                    span_of(parts[0]),
                    self.variable_hint(parts[0].this),
                )
            parts = parts[1:]
        if parts[0].this.lower() not in self.columns:
            raise ProgrammingError(
                f"the input has no column {parts[0].this}",
                span_of(parts[0], self.place),
                self._column_hint(parts[0]),
            )
        name = copied(parts[0])
        # As it is declared: one column is one travelling value, however it is spelled.
        name.set("this", self.columns[name.name.lower()][0])
        plain: exp.Column | exp.Dot = exp.column(name, copy=False)
        for field in parts[1:]:
            plain = exp.Dot(this=plain, expression=copied(field))
        return variables, plain

    def _column_hint(self, identifier: exp.Identifier) -> str:
        name, columns = identifier.this, [name for name, _ in self.columns.values()]
        if name.upper() in MATCH_FUNCTIONS:
            return f"did you mean {name.upper()}()?"
        if "*" in columns:
            return "the columns of a table function are known if an alias names them: AS t (a, b)"
        if self.find_variables(identifier) is not None:
            return f"{name} is a pattern variable; {name}.{columns[0]} is a column of its last row"
        return suggestion(name, columns, "columns")

    def _is_qualifier(self, first: exp.Identifier, second: exp.Identifier) -> bool:
        """Tell `variable.column` from `column.field` where a variable and a column have one name."""
        if first.this.lower() not in self.columns:
            return True
        fieldless = not self.columns[first.this.lower()][1].startswith(_WITH_FIELDS)
        return self.find_variables(first) is not None and (second.this.lower() in self.columns or fieldless)

    def type_of(self, expression: exp.Expr) -> str:
        """Return the Spark type of an expression, lower case, "unknown" where it cannot be told."""
        row = self.row_expression(expression)
        if self._is_input_column(row):
            return self._declared_type(row)
        plain = row.transform(lambda node: of_result_type(node) or node, copy=False)
        for call in list(plain.find_all(exp.Anonymous)):
            kind = _TYPES.get(call.name.upper())
            if kind:
                typed = exp.cast(exp.null(), kind, dialect=DIALECT)
                plain = typed if call is plain else plain
                call.replace(typed)
        if self._is_input_column(plain):
            return self._declared_type(plain)
        query = exp.Select(expressions=[exp.alias_(plain, "e", copy=False)], from_=exp.From(this=relation(_ROWS)))
        for column in query.find_all(exp.Column):
            column.set("table", exp.to_identifier(_ROWS))
            if isinstance(column.this, exp.Identifier):
                column.this.set("this", column.name.lower())
        has_type = is_annotated(query, _schema(tuple(self.columns.values())))
        return spoken_type(query.expressions[0]) if has_type else "unknown"

    def _is_input_column(self, expression: exp.Expr) -> bool:
        return isinstance(expression, exp.Column) and expression.name.lower() in self.columns

    def _declared_type(self, column: exp.Expr) -> str:
        return declared_type(self.columns[column.name.lower()][1])

    def row_expression(self, expression: exp.Expr) -> exp.Expr:
        """Return a new expression without pattern variables and navigation: what is computed from one row."""

        def strip(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                return self.resolve(node)[1]
            if navigation_name(node) == "CLASSIFIER":
                # Its argument is a variable, no column.
                return exp.Anonymous(this="CLASSIFIER")
            if navigation_name(node) in _TAKEN_OFF and node.expressions:
                value = strip(copied(node.expressions[0]))
                return exp.Paren(this=value) if needs_brackets(value, node) else value
            return node

        # Calls nest (PREV(LAST(x))): each pass takes one layer off.
        stripped = expression
        for _ in range(4):
            nested = any(navigation_name(node) in _TAKEN_OFF for node in stripped.walk())
            stripped = (copied(stripped) if stripped is expression else stripped).transform(strip, copy=False)
            if not nested:
                break
        return stripped

    def row_sql(self, expression: exp.Expr) -> str:
        """Return the Spark SQL of an expression that reads one row, over the columns of the input."""
        return sql_of(self.row_expression(expression), keep=False)


@lru_cache(maxsize=16)
def _schema(columns: tuple[tuple[str, str], ...]) -> MappingSchema:
    """Return a schema of rows with these columns; the expressions of a clause share it."""
    return schema_of({_ROWS: columns})


def navigation_name(node: exp.Expr) -> str | None:
    """Return the upper-case name of a call that sqlglot does not know, None for anything else."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else None


def row_of(expression: exp.Expr, scope: MatchScope) -> RowRef | None:
    """Return the row that a navigation call or a column reads.

    None if the expression is neither. Raises ProgrammingError for nesting that the standard forbids, mixed variables
    and wrong offsets.
    """
    if isinstance(expression, exp.Column):
        if isinstance(expression.this, exp.Star):
            raise ProgrammingError("a star may stand only in COUNT", span_of(expression, scope.place))
        return RowRef(scope.resolve(expression)[0])
    name = navigation_name(expression)
    if name in (RUNNING, FINAL):
        return row_of(semantics_argument(expression, scope), scope)
    if name in (FIRST, LAST):
        return replace(_argument_row(expression, scope), first=name == FIRST, offset=_offset(expression, 0, scope))
    if name in ("PREV", "NEXT"):
        inner = expression.expressions[0] if expression.expressions else None
        logical = inner is not None and navigation_name(inner) in (FIRST, LAST, RUNNING, FINAL)
        base = row_of(inner, scope) if inner is not None and logical else _argument_row(expression, scope)
        amount = _offset(expression, 1, scope)
        # A logical navigation reads a row.
        assert base is not None
        return replace(base, shift=-amount if name == "PREV" else amount)
    return None


def semantics_argument(call: exp.Expr, scope: MatchScope) -> exp.Expr:
    """Return what RUNNING or FINAL stands before.

    Raises ProgrammingError if that is neither FIRST, LAST nor an aggregate.
    """
    argument = call.expressions[0]
    if navigation_name(argument) not in (FIRST, LAST) and not is_aggregate(argument):
        raise ProgrammingError(
            f"{spoken_name(call)} may stand only before FIRST, LAST and aggregates", span_of(call, scope.place)
        )
    return argument


def no_arguments(call: exp.Expr, scope: MatchScope) -> None:
    """Raise ProgrammingError if a call like MATCH_NUMBER() has arguments."""
    if call.expressions:
        raise ProgrammingError(f"{spoken_name(call)}() takes no argument", span_of(call, scope.place))


def variable_hint(name: str, variables: Iterable[str]) -> str:
    """Make the hint for an unknown pattern variable."""
    return suggestion(name, [v if v == v.upper() and v.isidentifier() else f'"{v}"' for v in variables], "variables")


def _argument_row(call: exp.Expr, scope: MatchScope) -> RowRef:
    """Return the row of a navigation's argument: an expression over one variable, without navigation."""
    name = spoken_name(call)
    if not call.expressions:
        raise ProgrammingError(f"{name} needs an argument", span_of(call, scope.place))
    argument = call.expressions[0]
    if isinstance(argument, exp.Star) or argument.find(exp.Star):
        raise ProgrammingError("a star may stand only in COUNT", span_of(call, scope.place))
    if navigation_name(argument) == "CLASSIFIER":
        return classifier_row(argument, scope)
    for node in argument.walk():
        nested = navigation_name(node)
        if nested in (FIRST, LAST, "PREV", "NEXT", RUNNING, FINAL):
            inside = nested.strip("_")
            raise ProgrammingError(
                f"{name} may not hold {inside}",
                span_of(call, scope.place),
                "only PREV and NEXT may hold FIRST or LAST, directly",
            )
        if nested in MATCH_FUNCTIONS or is_aggregate(node):
            what = f"a computed {nested}" if nested in MATCH_FUNCTIONS else "an aggregate"
            raise NotSupportedError(f"{name} over {what} is not supported", span_of(call, scope.place))
    if argument.find(exp.Column) is None:
        raise ProgrammingError(
            f"{name} needs a column to read", span_of(call, scope.place), f"{name}(x), or {name}(CLASSIFIER())"
        )
    return RowRef(one_variable(argument, scope, name))


def classifier_row(call: exp.Expr, scope: MatchScope) -> RowRef:
    """Return the row that CLASSIFIER() or CLASSIFIER(variable) names the variable of."""
    if not call.expressions:
        return LAST_ROW
    argument = call.expressions[0]
    name = argument.this if isinstance(argument, exp.Column) and len(argument.parts) == 1 else None
    variables = scope.find_variables(name) if isinstance(name, exp.Identifier) else None
    if variables is None or len(call.expressions) > 1:
        raise ProgrammingError(
            "CLASSIFIER takes one pattern variable or union of them",
            span_of(call, scope.place),
            scope.variable_hint(argument.name),
        )
    return RowRef(variables)


def one_variable(expression: exp.Expr, scope: MatchScope, call: str) -> frozenset[int] | None:
    """Return the variable that all columns of a call's argument belong to.

    Raises ProgrammingError if they belong to different ones.
    """
    variables: set[frozenset[int] | None] = set()
    for node in expression.walk(prune=lambda node: navigation_name(node) == "CLASSIFIER"):
        if navigation_name(node) == "CLASSIFIER":
            variables.add(classifier_row(node, scope).variables)
        elif isinstance(node, exp.Column):
            variables.add(_star_variables(node, scope) if isinstance(node.this, exp.Star) else scope.resolve(node)[0])
    if len(variables) > 1:
        raise ProgrammingError(
            f"{call} reads rows of one pattern variable, not of several",
            span_of(expression, scope.place),
            "qualify every column in it with the same variable",
        )
    return variables.pop() if variables else None


def _star_variables(star: exp.Column, scope: MatchScope) -> frozenset[int]:
    table = star.args["table"]
    variables = scope.find_variables(table)
    if variables is None:
        raise ProgrammingError(
            f"there is no pattern variable {table.this}",
            span_of(table, scope.place),
            scope.variable_hint(table.this),
        )
    return variables


def _offset(call: exp.Expr, default: int, scope: MatchScope) -> int:
    name = spoken_name(call)
    if len(call.expressions) > 2:
        raise ProgrammingError(f"{name} takes one or two arguments", span_of(call, scope.place))
    if len(call.expressions) < 2:
        return default
    offset = call.expressions[1]
    if isinstance(offset, exp.Literal) and not offset.is_string and offset.this.isdigit():
        if int(offset.this) > MAX_OFFSET:
            raise ProgrammingError(
                f"the offset of {name} is above {MAX_OFFSET}", span_of(offset, span_of(call, scope.place))
            )
        return int(offset.this)
    raise ProgrammingError(
        f"the offset of {name} must be a constant whole number, 0 or more", span_of(call, scope.place)
    )
