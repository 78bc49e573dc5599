"""The text of a query as its user wrote it, so that Spark is given that and not another spelling of it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.errors import Span
from cepsql.language.given_clauses import given_clauses
from cepsql.language.statements import Clause, ParsedQuery
from cepsql.language.tokens import quoted

_PLAIN_TABLE = {"this", "db", "catalog", "alias", "joins", "laterals"}
"""What a table may have so that an alias can follow its name."""


@dataclass(frozen=True)
class TableName:
    """A place in a text where the name of a relation stands; `alias` is the one it gets if none follows in the text."""

    name: str
    alias: str | None


@dataclass(frozen=True)
class Written:
    """A query's text, in pieces: plain SQL as it was written, and names of relations.

    tree: the query that the text says; for any other, made from it by a rewriting, the text does not hold.
    """

    tree: exp.Query
    pieces: tuple[str | TableName, ...]

    def sql(self, names: Callable[[str], str]) -> str:
        """Return the text with other names for the relations, which `names` gives for the lower-case written ones."""
        return "".join(piece if isinstance(piece, str) else _named(piece, names) for piece in self.pieces)


def written_query(query: ParsedQuery, tree: exp.Query) -> Written | None:
    """Return the text of a statement's query; `tree` is the same query, or a copy that differs only in what is unused.

    None where the text cannot be given as it is.
    """
    same = _count(tree, exp.CTE) == _count(query.expression, exp.CTE)
    return _written(query, tree, query.text, "") if same and query.text is not None else None


def written_input(query: ParsedQuery, clause: Clause, tree: exp.Query) -> Written | None:
    """Return the text of what an operator reads, as `written_query` does."""
    same = _count(tree, exp.CTE) == _count(clause.input, exp.CTE)
    place = query.inputs.get(clause.name)
    return _written(query, tree, place, "SELECT * FROM ") if same and place is not None else None


def without_limit(written: Written | None, before: exp.Query, after: exp.Query) -> Written | None:
    """Return the text of a query `before` without the LIMIT at its end, which `after` does not have."""
    if written is None or written.tree is not before or not isinstance(written.pieces[-1], str):
        return None
    text, shortened = re.subn(r"\bLIMIT\s+\d+\s*\Z", "", written.pieces[-1], flags=re.IGNORECASE)
    return Written(after, (*written.pieces[:-1], text)) if shortened else None


def with_relations(
    written: Written | None, tree: exp.Query, names: Mapping[str, str], bodies: Mapping[str, Written]
) -> Written | None:
    """Return the text with new names for relations, and with the texts of views in place of theirs.

    tree: the query that the text then says.
    """
    if written is None:
        return None
    pieces: list[str | TableName] = []
    for piece in written.pieces:
        if isinstance(piece, TableName) and piece.name in bodies:
            alias = f" AS {quoted(piece.alias)}" if piece.alias else ""
            pieces += ["(", *bodies[piece.name].pieces, "\n)", alias]
        elif isinstance(piece, TableName):
            pieces.append(TableName(names.get(piece.name, piece.name), piece.alias))
        else:
            pieces.append(piece)
    return Written(tree, tuple(pieces))


def _written(query: ParsedQuery, tree: exp.Query, place: Span | None, head: str) -> Written | None:
    if place is None or any(_is_plain(query, place, at) for at in query.respelt):
        return None
    names = [*_tables(query, tree, place), *_values(query, place)]
    edits = sorted({edit for edit in names if edit is not None}, key=lambda edit: edit[0].start)
    if None in names:
        return None
    pieces: list[str | TableName] = [head]
    at = place.start
    for span, new in edits:
        if span.start < at or span.end > place.end:
            return None
        pieces += [query.sql[at : span.start], new]
        at = span.end
    return Written(tree, (*pieces, query.sql[at : place.end]))


def _tables(query: ParsedQuery, tree: exp.Query, place: Span) -> Iterable[tuple[Span, str | TableName] | None]:
    """Yield the names of relations in the text, with None for one whose place is not known."""
    for table in catalog_tables(tree):
        span = query.operator_places.get(table.name) or _name_span(table)
        alias = table.args.get("alias")
        further = given_clauses(table) - _PLAIN_TABLE
        if span is None or further or (alias is not None and alias.this is None):
            yield None
        else:
            # One that has no place in the text stands within the operator's.
            follows = alias is not None and alias.this.meta_get("start") is not None
            yield span, TableName(table_name(table), None if follows else table.alias_or_name)


def _name_span(table: exp.Table) -> Span | None:
    metas = [part.meta for part in table.parts]
    if any("start" not in meta for meta in metas):
        return None
    return Span(metas[0]["start"], metas[-1]["end"] + 1)


def _values(query: ParsedQuery, place: Span) -> Iterable[tuple[Span, str] | None]:
    """Yield the values of the parameters in the text."""
    for name in query.parameters:
        if _is_plain(query, place, name.span.start):
            value = query.values.get(name.text)
            yield None if value is None else (name.span, f"({value})")


def _is_plain(query: ParsedQuery, place: Span, at: int) -> bool:
    """Tell whether a character stands in a part of the text, and in no operator there."""
    inner = [
        span
        for span in query.operator_places.values()
        if place.start <= span.start and span.end <= place.end and span != place
    ]
    return place.start <= at < place.end and not any(span.start <= at < span.end for span in inner)


def _count(tree: exp.Expr, kind: type[exp.Expr]) -> int:
    return sum(1 for _ in tree.find_all(kind))


def _named(piece: TableName, names: Callable[[str], str]) -> str:
    return names(piece.name) + (f" AS {quoted(piece.alias)}" if piece.alias else "")
