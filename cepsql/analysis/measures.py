"""MEASURES expressions: the matcher returns only what needs the match, Spark computes the rest from that."""

from dataclasses import dataclass, field

from sqlglot import exp

from cepsql.analysis.conditions import Traveling, lower_aggregate
from cepsql.analysis.positions import span_of
from cepsql.analysis.scope import (
    FINAL,
    FIRST,
    LAST,
    RUNNING,
    MatchScope,
    RowRef,
    classifier_row,
    navigation_name,
    no_arguments,
    row_of,
    semantics_argument,
)
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.pattern.program import Aggregate, Classifier, Complete, MatchNumber, Measure, Navigation


@dataclass
class Atoms:
    """The columns that the matcher must return, gathered while measures are lowered."""

    measures: list[Measure] = field(default_factory=list)

    def column(self, source: Navigation | Aggregate | Classifier | MatchNumber | Complete) -> exp.Column:
        """Return the column that will hold `source`."""
        for measure in self.measures:
            if measure.source == source:
                return exp.column(measure.name)
        self.measures.append(Measure(f"a{len(self.measures)}", source))
        return exp.column(self.measures[-1].name)


def lower_measure(
    expression: exp.Expr, scope: MatchScope, traveling: Traveling, atoms: Atoms, timeouts: bool
) -> exp.Expr:
    """Return the expression that Spark computes over the matcher's columns; what those are goes into `atoms`.

    timeouts: whether SHOW TIMEOUT MATCHES was asked for, which MATCH_TIMEOUT() needs.
    Raises ProgrammingError and NotSupportedError with positions.
    """

    def lower(node: exp.Expr) -> exp.Expr:
        name = navigation_name(node)
        match name:
            case _ if name in (RUNNING, FINAL):
                # One row per match is computed at the last row, where both see the whole match.
                return lower_measure(semantics_argument(node, scope), scope, traveling, atoms, timeouts)
            case "MATCH_NUMBER" | "MATCH_ROWTIME" | "MATCH_TIMEOUT":
                no_arguments(node, scope)
        match name:
            case "MATCH_NUMBER":
                return atoms.column(MatchNumber())
            case "MATCH_ROWTIME":
                return _row_time(node)
            case "MATCH_TIMEOUT":
                if not timeouts:
                    raise ProgrammingError(
                        "MATCH_TIMEOUT() needs SHOW TIMEOUT MATCHES",
                        span_of(node, scope.place),
                        "ONE ROW PER MATCH SHOW TIMEOUT MATCHES",
                    )
                return exp.not_(atoms.column(Complete()))
            case "CLASSIFIER":
                return _classifier(classifier_row(node, scope))
        if isinstance(node, exp.Window):
            raise NotSupportedError(
                "a window function in MEASURES is not supported",
                span_of(node, scope.place),
                "aggregates there are over the rows of the match; PREV and NEXT read neighbours",
            )
        if isinstance(node, exp.Star):
            raise ProgrammingError("a star may stand only in COUNT", span_of(node, scope.place))
        if isinstance(node, exp.Query | exp.Subquery):
            raise NotSupportedError("a subquery in MEASURES is not supported", span_of(node, scope.place))
        if isinstance(node, exp.Placeholder):
            raise ProgrammingError(
                f"no value was given for :{node.this}", scope.place, "pass args={...}, or -v NAME=VALUE"
            )
        aggregate = lower_aggregate(node, scope, traveling)
        if aggregate is not None:
            return _time_again(aggregate, aggregate.column)
        if isinstance(node, exp.Column) or name in (FIRST, LAST, "PREV", "NEXT"):
            row = row_of(node, scope)
            if any(navigation_name(inner) == "CLASSIFIER" for inner in node.walk()):
                return _classifier(row)
            column = traveling.value(scope.row_sql(node))
            return _time_again(Navigation(column, row.variables, row.first, row.offset, row.shift), column)
        return node

    def _classifier(row: RowRef) -> exp.Expr:
        return atoms.column(Classifier(row.variables, row.first, row.offset, row.shift))

    def _row_time(node: exp.Expr) -> exp.Expr:
        if traveling.time is None:
            raise ProgrammingError(
                "MATCH_ROWTIME() needs rows ordered by a TIMESTAMP",
                span_of(node, scope.place),
                "ORDER BY such a column",
            )
        return _time_again(Navigation("t"), "t")

    def _time_again(source: Navigation | Aggregate, column: str | None) -> exp.Expr:
        found = atoms.column(source)
        is_time = column == "t" and not (isinstance(source, Aggregate) and source.function == "count")
        return exp.func("timestamp_micros", found) if is_time else found

    return expression.transform(lower)
