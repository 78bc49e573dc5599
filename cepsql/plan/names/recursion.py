"""WITH RECURSIVE, which Spark computes over tables: what cannot stand in it, or beside it."""

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import recursive_ctes
from cepsql.errors import NotSupportedError
from cepsql.language.statements import Clause, DeduplicateClause, EmittedClause, MatchClause, ParsedQuery


def refuse_recursive_operators(query: ParsedQuery) -> None:
    """Raise NotSupportedError for a clause that reads the rows of an operator within a CTE that reads itself."""
    clauses = {clause.name: clause for clause in query.operators}
    for text in (query.expression, *(clause.input for clause in query.operators)):
        for table in text.find_all(exp.Table):
            clause = clauses.get(table.name)
            ctes = _recursive_around(table) if clause is not None else []
            if clause is not None and any(cte.alias.lower() in _names_read(cte, clauses) for cte in ctes):
                raise NotSupportedError(
                    f"{_word(clause)} within a CTE that reads itself is not supported",
                    clause.span,
                    "write it in a CTE before that one, which the recursive one reads, or around it",
                )


def refuse_recursion(query: ParsedQuery, streaming: bool) -> None:
    """Raise NotSupportedError for WITH RECURSIVE in a query over streams, whose rows never have all been there."""
    texts = (query.expression, *(clause.input for clause in query.operators))
    cte = next((cte for text in texts for cte in recursive_ctes(text)), None)
    if cte is not None and streaming:
        place = span_of(cte.args["alias"], query.span)
        hint = "a view of it may be joined"
        raise NotSupportedError("WITH RECURSIVE in a query over a stream is not supported", place, hint)


def _recursive_around(table: exp.Table) -> list[exp.CTE]:
    """Return the CTEs of WITH RECURSIVE in which a table stands."""
    ctes, node = [], table.parent
    while node is not None:
        if isinstance(node, exp.CTE) and node.parent is not None and node.parent.args.get("recursive"):
            ctes.append(node)
        node = node.parent
    return ctes


def _names_read(text: exp.Expr, clauses: dict[str, Clause]) -> set[str]:
    """Return the names, lower case, of the relations that a text reads, and that its operators do."""
    tables = {table.name for table in text.find_all(exp.Table)}
    below = [_names_read(clauses[name].input, clauses) for name in tables if name in clauses]
    return {name.lower() for name in tables}.union(*below)


def _word(clause: Clause) -> str:
    if isinstance(clause, MatchClause):
        return "MATCH_RECOGNIZE"
    if isinstance(clause, EmittedClause):
        return "EMIT"
    return "DEDUPLICATE" if isinstance(clause, DeduplicateClause) else "a window"
