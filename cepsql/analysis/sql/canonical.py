"""Clauses and plain SQL in one normal form, so that texts that differ in spaces, case and comments only are equal."""

import hashlib
import json

from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.language.notes import copied
from cepsql.language.statements import MatchClause
from cepsql.pattern import ir


def canonical_sql(expression: exp.Expr) -> str:
    """Return SQL on one line: names that are not quoted in lower case, keywords in upper case, no comments."""
    copy = copied(expression)
    for identifier in copy.find_all(exp.Identifier):
        if not identifier.quoted:
            identifier.set("this", identifier.name.lower())
    return sql_of(copy, comments=False, keep=False)


def canonical_json(value: object) -> str:
    """Return JSON that is the same for equal values, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: object) -> str:
    """Return the hash (64 hexadecimal digits) of a value that JSON can hold."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def describe_pattern(clause: MatchClause) -> dict:
    """Return what decides which rows match, and which partition and place they have: no measures, no output."""
    conditions = {name.text: canonical_sql(condition) for name, condition in clause.defines}
    named = {column.parts[0].name for _, c in clause.defines for column in c.find_all(exp.Column)}
    unions = {
        union.text: sorted(member.text for member in members)
        for union, members in clause.subsets
        if union.text in {name.upper() for name in named} | named | {clause.skip.variable and clause.skip.variable.text}
    }
    described = {
        "partition by": [canonical_sql(key) for key in clause.partition_by],
        "order by": [_describe_order(item) for item in clause.order_by],
        "skip": [clause.skip.target, clause.skip.variable and clause.skip.variable.text],
        "pattern": ir.dump(clause.pattern),
        "within": None if clause.within is None else interval_micros(clause.within),
        "subset": unions,
        "define": conditions,
    }
    return described if clause.frame is None else described | {"frame": clause.frame.after}


def _describe_order(item: exp.Ordered) -> list[str]:
    direction = "descending" if item.args.get("desc") else "ascending"
    return [canonical_sql(item.this), direction, "nulls first" if item.args.get("nulls_first") else "nulls last"]


def describe_clause(clause: MatchClause, pattern: dict | None = None) -> dict:
    """Return a MATCH_RECOGNIZE, without its input, as data that JSON can hold.

    pattern: what `describe_pattern` returns for it, if that is known.
    """
    rows = clause.rows
    described = (describe_pattern(clause) if pattern is None else pattern) | {
        "measures": [[measure.name.text, canonical_sql(measure.expression)] for measure in clause.measures],
        "rows": {"all": rows.all, "empty": rows.empty, "timeouts": rows.timeouts},
    }
    if clause.frame is None:
        return described
    beside = {"beside": [describe_clause(other) for other in clause.beside]} if clause.beside else {}
    return described | {"calls": clause.calls, "columns": list(clause.carried)} | beside
