"""SEEK in windows with a row pattern: the first match that begins at the row or later in its frame.

The language makes it a pattern that skips as few rows as it can. What reads all rows of the match reads those that were
not skipped.
"""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import is_aggregate
from cepsql.analysis.row_pattern.scope import FIRST, LAST, navigation_name
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError
from cepsql.language.statements import MatchClause
from cepsql.language.windows_with_patterns import SOUGHT


def of_sought_rows(clause: MatchClause) -> MatchClause:
    """Return a clause whose measures and conditions read no rows that SEEK skips; the same one without SEEK."""
    if all(name.text != SOUGHT for name, _ in clause.subsets):
        return clause
    measures = tuple(replace(measure, expression=_sought(measure.expression)) for measure in clause.measures)
    return replace(
        clause, measures=measures, defines=tuple((name, _sought(condition)) for name, condition in clause.defines)
    )


def _sought(expression: exp.Expr) -> exp.Expr:
    """Return an expression whose functions of rows read the sought ones in place of all."""
    held = exp.Paren(this=expression.copy())
    for call in [node for node in held.walk() if is_aggregate(node) or navigation_name(node) in (FIRST, LAST)]:
        read = [node for node in call.find_all(exp.Column) if isinstance(node.this, exp.Identifier)]
        names = [node for node in call.walk() if navigation_name(node) == "CLASSIFIER"]
        if not read and not names and is_aggregate(call):
            _count_sought(call)
        for column in read:
            if not column.table:
                column.set("table", exp.to_identifier(SOUGHT, quoted=True))
        for name in names:
            if not name.expressions:
                name.set("expressions", [exp.column(exp.to_identifier(SOUGHT, quoted=True))])
    return held.this


def _count_sought(call: exp.Expr) -> None:
    count = call.find(exp.Count)
    if count is None:
        raise NotSupportedError(
            "an aggregate of a constant beside SEEK is not supported", span_of(call), "COUNT(*) counts rows"
        )
    if not isinstance(count.this, exp.Column):
        star = exp.Column(this=exp.Star(), table=exp.to_identifier(SOUGHT, quoted=True))
        star.meta.update(count.meta)
        count.set("this", star)
