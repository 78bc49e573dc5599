"""Replace subqueries and CURRENT_WATERMARK in DEFINE and MEASURES by hidden columns of a match's input."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import is_aggregate
from cepsql.analysis.row_pattern.scope import FINAL, FIRST, LAST, RUNNING, navigation_name
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.watermark_call import asks_watermarks, is_watermark_call
from cepsql.errors import NotSupportedError, Span
from cepsql.language.statements import MatchClause, MeasureClause
from cepsql.pattern.compile import can_be_empty

HIDDEN = "__subquery_"
"""The prefix of the names of the hidden columns."""

_READERS = (FIRST, LAST, RUNNING, FINAL, "PREV", "NEXT")


def with_hidden_columns(clause: MatchClause, check: Callable[[exp.Query, Span | None], None]) -> MatchClause:
    """Return the clause over an input with hidden columns for its subqueries and watermarks.

    A scalar subquery or EXISTS is one value; IN is evaluated for each row. Spark computes them with the input.
    check: raises an error, with position, for a subquery that reads a relation that it must not read.
    Raises NotSupportedError for subqueries of other forms.
    """
    hoisting = _Hoisting(clause, check)
    defines = tuple((name, hoisting.without(condition, name.text)) for name, condition in clause.defines)
    before = hoisting.subqueries
    measures = tuple(MeasureClause(hoisting.without(m.expression), m.name) for m in clause.measures)
    if not hoisting.columns:
        return clause
    if hoisting.subqueries > before and can_be_empty(clause.pattern):
        raise NotSupportedError(
            "a subquery in MEASURES of a pattern that can match no rows is not supported",
            clause.span,
            "an empty match has no row to take its value from; join the table after the match",
        )
    return replace(clause, input=_extended(clause.input, hoisting.columns), defines=defines, measures=measures)


def _extended(query: exp.Query, columns: list[exp.Expr]) -> exp.Query:
    copy = query.copy()
    for i, column in enumerate(columns):
        copy.append("expressions", exp.alias_(column, f"{HIDDEN}{i}"))
    return copy


class _Hoisting:
    """The hidden columns, collected while expressions are rewritten."""

    def __init__(self, clause: MatchClause, check: Callable[[exp.Query, Span | None], None]):
        self.clause, self.check = clause, check
        self.columns: list[exp.Expr] = []
        self.subqueries = 0
        self._variables = {*clause.pattern_names, *(union.text for union, _ in clause.subsets)}

    def without(self, expression: exp.Expr, variable: str | None = None) -> exp.Expr:
        """Return an expression with hidden columns for its subqueries and watermarks; `variable`: the pattern variable
        that it defines."""
        if not asks_hidden_columns(expression):
            return expression
        copy = exp.Paren(this=expression.copy())
        for node in _outermost(copy):
            if is_watermark_call(node):
                node.replace(self._watermark(node))
                continue
            self.subqueries += 1
            if variable is not None and isinstance(node, exp.In):
                _name_row_under_test(node, variable)
            self.check(_query(node), span_of(node, self.clause.span))
            node.replace(self._in_list(node) if self._asks_others(node) else self._hidden(node, node))
        changed = copy.this
        changed.meta.update(expression.meta)
        return changed

    def _watermark(self, call: exp.Expr) -> exp.Column:
        """Return the hidden column with the watermark of a row: that of the variable before the event time."""
        value, table = call.copy(), None
        for column in value.find_all(exp.Column):
            named = column.args.get("table")
            if named is not None and (named.name if named.quoted else named.name.upper()) in self._variables:
                table = named.copy()
                column.set("table", None)
        if value not in self.columns:
            self.columns.append(value)
        hidden = exp.column(f"{HIDDEN}{self.columns.index(value)}", table=table)
        hidden.meta.update(call.meta)
        return hidden

    def _asks_others(self, node: exp.Expr) -> bool:
        """Tell whether IN with a subquery tests a value from other rows of the match."""
        if not isinstance(node, exp.In):
            return False
        reads = [inner for inner in node.this.walk() if navigation_name(inner) or is_aggregate(inner)]
        named = [column for column in node.this.find_all(exp.Column) if column.table]
        return bool(reads or named or node.find_ancestor(exp.AggFunc, exp.Anonymous))

    def _in_list(self, node: exp.Expr) -> exp.Expr:
        """Return the test of a value against a hidden column with the list of a subquery's values.

        As IN, it is NULL if the value is not in the list and one of them is NULL, and false for an empty list."""
        asked = _query(node)
        if len(asked.selects) != 1 or asked.selects[0].is_star or isinstance(node.this, exp.Tuple):
            raise NotSupportedError(
                "IN a subquery of several columns is not supported",
                span_of(node, self.clause.span),
                "ask for one value",
            )
        table = exp.to_identifier("__asked")
        alias = exp.TableAlias(this=table, columns=[exp.to_identifier("x")])

        def of_all(call: exp.Expr) -> exp.Column:
            rows = exp.Subquery(this=asked.copy(), alias=alias.copy())
            return self._hidden(exp.Subquery(this=exp.select(call).from_(rows)), node)

        listed = of_all(exp.ArrayAgg(this=exp.column("x", "__asked")))
        missing = exp.Sub(
            this=exp.Count(this=exp.Star(), big_int=True), expression=exp.Count(this=exp.column("x", "__asked"))
        )
        nulls = of_all(missing)
        not_empty = exp.GT(this=exp.ArraySize(this=listed.copy()), expression=exp.Literal.number(0))
        contained = exp.ArrayContains(this=listed, expression=node.this.copy())
        unknown = exp.GT(this=nulls, expression=exp.Literal.number(0))
        result = exp.case().when(exp.and_(not_empty, contained), exp.true())
        result = result.when(unknown, exp.null()).when(not_empty.copy(), contained.copy()).else_(exp.false())
        result.meta.update(node.meta)
        return exp.Paren(this=result)

    def _hidden(self, value: exp.Expr, node: exp.Expr) -> exp.Column:
        self.columns.append(value.copy())
        column = exp.column(f"{HIDDEN}{len(self.columns) - 1}", table=_variable_beside(node))
        column.meta.update(node.meta)
        return column


def asks_hidden_columns(expression: exp.Expr) -> bool:
    """Tell whether an expression of a clause has subqueries or calls of CURRENT_WATERMARK."""
    return expression.find(exp.Query) is not None or asks_watermarks(expression)


def _outermost(root: exp.Expr) -> list[exp.Expr]:
    """Return the outermost expressions with a subquery, and the calls of CURRENT_WATERMARK."""
    outermost, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        holds = isinstance(node, exp.In) and node.args.get("query") is not None
        holds = holds or (isinstance(node, exp.Exists | exp.Query) and node.find(exp.Query) is not None)
        if holds or is_watermark_call(node):
            outermost.append(node)
        else:
            waiting += list(node.iter_expressions())
    return outermost


def _name_row_under_test(node: exp.In, variable: str) -> None:
    """Remove the variable that a condition defines from the columns before IN: they belong to the row itself."""
    for column in node.this.find_all(exp.Column):
        table = column.args.get("table")
        if table is not None and (table.name if table.quoted else table.name.upper()) == variable:
            column.set("table", None)


def _query(node: exp.Expr) -> exp.Query:
    query = node.args["query"] if isinstance(node, exp.In) else node
    inner = query if isinstance(query, exp.Query) else query.find(exp.Query)
    unnested = inner and inner.unnest()
    assert isinstance(unnested, exp.Query)
    return unnested


def _variable_beside(node: exp.Expr) -> exp.Identifier | None:
    """Return the variable whose rows the call around the node reads: all its columns must have the same variable."""
    call = node.parent
    while call is not None and not (is_aggregate(call) or navigation_name(call) in _READERS):
        call = call.parent
    if call is None:
        return None
    columns = [column for column in call.find_all(exp.Column) if not column.find_ancestor(exp.Query)]
    return next((column.args["table"].copy() for column in columns if column.table), None)
