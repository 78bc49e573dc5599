"""A query's rows as its pattern sees them: all of them, each with the variable and the match that it belongs to."""

from dataclasses import replace

from sqlglot import exp

from cepsql.errors import NotSupportedError
from cepsql.language import statements as st
from cepsql.language.translate import statements


def matched_series(query: st.ParsedQuery, variable: str, match: str) -> tuple[st.ParsedQuery, tuple[str, ...]]:
    """Return the query of all rows of a query's one MATCH_RECOGNIZE, and the names of the columns of PARTITION BY.

    variable, match: the columns that say of each row which variable of which match it is, NULL for neither.
    Raises NotSupportedError if the query has none, or several, or partitions by what is no column.
    """
    clauses = [clause for clause in query.operators if isinstance(clause, st.MatchClause)]
    if len(clauses) != 1 or query.operators[-1] is not clauses[0]:
        raise NotSupportedError("only the rows of a single MATCH_RECOGNIZE can be drawn", query.span)
    clause = clauses[0]
    keys = [key.name for key in clause.partition_by if isinstance(key, exp.Column)]
    if len(keys) != len(clause.partition_by):
        raise NotSupportedError("rows that are partitioned by an expression cannot be drawn", clause.span)
    rows, measures = _template(variable, match)
    with_clause = query.expression.args.get("with_")
    outer = exp.select("*").from_(exp.to_table(clause.name))
    if with_clause is not None:
        outer.set("with_", with_clause.copy())
    seen = replace(clause, rows=rows, measures=measures)
    whole = replace(query, expression=outer, operators=(*query.operators[:-1], seen), text=None, operator_places={})
    return whole, tuple(keys)


def _template(variable: str, match: str) -> tuple[st.Rows, tuple[st.MeasureClause, ...]]:
    (parsed,) = statements(
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES CLASSIFIER() AS {variable}, MATCH_NUMBER() AS {match} "
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A))"
    )
    assert isinstance(parsed, st.ParsedQuery)
    (clause,) = parsed.operators
    assert isinstance(clause, st.MatchClause)
    return clause.rows, clause.measures
