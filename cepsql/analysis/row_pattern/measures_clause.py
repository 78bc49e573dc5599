"""MEASURES expressions: the matcher returns only what depends on the match, Spark computes the rest from that."""

import re
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import aggregate_call
from cepsql.analysis.row_pattern.match_aggregates import lower_aggregate
from cepsql.analysis.row_pattern.match_lists import ListAggregate, lower_list_aggregate
from cepsql.analysis.row_pattern.scope import (
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
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.function_calls import spoken_name
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.statements import NAVIGATION, Rows
from cepsql.pattern.program import Aggregate, Classifier, Complete, MatchId, MatchNumber, Measure, Navigation, RowValue

_NAVIGATION = re.compile(rf"\b__({'|'.join(NAVIGATION)})(?=\()")


@dataclass
class Atoms:
    """The columns that the matcher must return, and the aggregates that Spark computes from list columns.

    Collected while measures are lowered.
    computed: the expressions that Spark computes, each with the part of a measure that it replaces.
    mark:    the suffix of the columns' names.
    """

    measures: list[Measure] = field(default_factory=list)
    aggregates: list[ListAggregate] = field(default_factory=list)
    computed: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    mark: str = ""

    def column(
        self, source: Navigation | Aggregate | Classifier | MatchNumber | MatchId | Complete | RowValue
    ) -> exp.Column:
        """Return the column that will hold `source`."""
        for measure in self.measures:
            if measure.source == source:
                return exp.column(measure.name)
        self.measures.append(Measure(f"a{len(self.measures)}{self.mark}", source))
        return exp.column(self.measures[-1].name)

    def aggregate(self, wanted: ListAggregate) -> exp.Column:
        """Return the column that will hold a `ListAggregate`, and name the aggregate."""
        new = replace(wanted, name=f"g{len(self.aggregates)}{self.mark}")
        for planned in self.aggregates:
            if replace(planned, name=new.name) == new:
                return exp.column(planned.name)
        self.aggregates.append(new)
        return exp.column(new.name)


def lower_row_value(column: exp.Expr, scope: MatchScope, traveling: Traveling, atoms: Atoms) -> exp.Expr:
    """Return the expression of an input column in the rows of ALL ROWS PER MATCH."""
    name = traveling.value(scope.row_sql(column))
    atom = atoms.column(RowValue(name))
    return exp.func("timestamp_micros", atom) if name == "t" else atom


def lower_measure(
    expression: exp.Expr, scope: MatchScope, traveling: Traveling, atoms: Atoms, rows: Rows, final: bool = False
) -> exp.Expr:
    """Return the expression that Spark computes over the matcher's columns; add these columns to `atoms`.

    rows:  ONE ROW, where RUNNING and FINAL agree, or ALL ROWS PER MATCH; MATCH_TIMEOUT() needs SHOW TIMEOUT MATCHES.
    final: the expression is FINAL.
    Raises ProgrammingError and NotSupportedError with positions.
    """

    def lower(node: exp.Expr) -> exp.Expr:
        name = navigation_name(node)
        match name:
            case _ if name in (RUNNING, FINAL):
                argument = semantics_argument(node, scope)
                return lower_measure(argument, scope, traveling, atoms, rows, rows.all and name == FINAL)
            case "MATCH_NUMBER" | "MATCH_ROWTIME" | "MATCH_TIMEOUT" | "MATCH_ID":
                no_arguments(node, scope)
        match name:
            case "MATCH_NUMBER":
                return atoms.column(MatchNumber())
            case "MATCH_ID":
                return atoms.column(MatchId())
            case "MATCH_ROWTIME":
                return _row_time(node)
            case "MATCH_TIMEOUT":
                if not rows.timeouts:
                    raise ProgrammingError(
                        "MATCH_TIMEOUT() needs SHOW TIMEOUT MATCHES",
                        span_of(node, scope.place),
                        "ONE ROW PER MATCH SHOW TIMEOUT MATCHES",
                    )
                return exp.not_(atoms.column(Complete()))
            case "CLASSIFIER":
                return _classifier(classifier_row(node, scope), final)
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
        call = aggregate_call(node)
        if call is not None:
            aggregate = lower_aggregate(call, scope, traveling)
            if aggregate is None:
                return lower_list_aggregate(call, scope, traveling, atoms, final)
            return _time_again(replace(aggregate, final=final), aggregate.column)
        if isinstance(node, exp.Column) or name in (FIRST, LAST, "PREV", "NEXT"):
            row = row_of(node, scope)
            # A column or a navigation reads a row.
            assert row is not None
            last = final or (rows.all and any(navigation_name(inner) == FINAL for inner in node.walk()))
            if any(navigation_name(inner) == "CLASSIFIER" for inner in node.walk()):
                return _classifier(row, last)
            column = traveling.value(scope.row_sql(node))
            return _time_again(Navigation(column, row.variables, row.first, row.offset, row.shift, last), column)
        return node

    def _classifier(row: RowRef, last: bool) -> exp.Expr:
        return atoms.column(Classifier(row.variables, row.first, row.offset, row.shift, last))

    def _row_time(node: exp.Expr) -> exp.Expr:
        if traveling.time is None:
            raise ProgrammingError(
                "MATCH_ROWTIME() needs rows ordered by a TIMESTAMP",
                span_of(node, scope.place),
                "ORDER BY a TIMESTAMP column first",
            )
        return _time_again(Navigation("t", final=rows.all), "t")

    def _time_again(source: Navigation | Aggregate, column: object) -> exp.Expr:
        lowered = atoms.column(source)
        is_time = column == "t" and not (isinstance(source, Aggregate) and source.function == "count")
        return exp.func("timestamp_micros", lowered) if is_time else lowered

    def noted(node: exp.Expr) -> exp.Expr:
        lowered = lower(node)
        if lowered is not node:
            atoms.computed.append((lowered, node))
        return lowered

    return expression.transform(noted)


def written_part(node: exp.Expr) -> str:
    """Return a part of a measure as Spark SQL, with navigation under the standard's names."""
    if navigation_name(node) in (RUNNING, FINAL):
        return f"{spoken_name(node)} {written_part(node.expressions[0])}"
    return _NAVIGATION.sub(lambda match: match[1], sql_of(node))
