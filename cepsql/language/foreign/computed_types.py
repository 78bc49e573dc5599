"""The type of a computed column that is written without one, as in Flink: seen AS PROCTIME()."""

from sqlglot import exp

from cepsql.language.tokens import DIALECT, Text

_TIMES = ("PROCTIME", "NOW", "TO_TIMESTAMP", "TIMESTAMP_MILLIS", "TIMESTAMP_SECONDS", "TIMESTAMP_MICROS")


def computed_type(text: Text, at: int, expression: exp.Expr, written: str) -> tuple[str, str]:
    """Return the type of a computed column, and what computes it.

    at:      the token of its name.
    written: the expression as Spark reads it.
    Raises ProgrammingError where the expression does not tell its type.
    """
    plain = expression.unnest()
    if isinstance(plain, exp.Cast):
        return plain.to.sql(DIALECT), written
    if isinstance(plain, exp.CurrentTimestamp | exp.Localtimestamp | exp.StrToTime | exp.TsOrDsToTimestamp):
        return "TIMESTAMP", written
    if isinstance(plain, exp.Column) and not plain.table and plain.name.upper() == "LOCALTIMESTAMP":
        return "TIMESTAMP", "localtimestamp()"
    if isinstance(plain, exp.Anonymous) and plain.name.upper() in _TIMES:
        return "TIMESTAMP", written
    if isinstance(plain, exp.Concat | exp.Upper | exp.Lower | exp.Substring | exp.Trim | exp.DPipe):
        return "STRING", written
    if isinstance(plain, exp.Predicate | exp.Connector | exp.Not):
        return "BOOLEAN", written
    hint = f"a computed column has a type: {text.raw(at)} INT AS ..."
    raise text.error(f"the type of {text.raw(at)} is not known", at, hint=hint)
