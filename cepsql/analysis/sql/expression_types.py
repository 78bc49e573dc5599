"""Types of expressions as sqlglot finds them, with those of functions of time, and of the columns of LATERAL VIEW.

sqlglot by itself takes what is exploded for its elements. But it reads the columns of a call in LATERAL VIEW from the
type of the call where that is a STRUCT, so here such a call has one, with a field for each column. Its TypeAnnotator
cannot be derived from instead: compiled, as `sqlglot[c]` has it, it allows no classes below it.
"""

from typing import Any

from sqlglot import exp
from sqlglot.optimizer.annotate_types import TypeAnnotator
from sqlglot.schema import Schema

from cepsql.language.tokens import DIALECT

_STANDS_FOR = "stands_for"

_TIMES = {
    exp.DType.TIMESTAMP: (
        "NOW", "TIMESTAMP_SECONDS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "TRY_TO_TIMESTAMP", "TO_TIMESTAMP_LTZ",
        "MAKE_TIMESTAMP_LTZ", "TRY_MAKE_TIMESTAMP", "TRY_MAKE_TIMESTAMP_LTZ", "CLOCK_CORRECTED",
    ),
    exp.DType.TIMESTAMPNTZ: ("TO_TIMESTAMP_NTZ", "MAKE_TIMESTAMP_NTZ", "TRY_MAKE_TIMESTAMP_NTZ"),
    exp.DType.DATE: ("MAKE_DATE", "TRY_TO_DATE"),
}  # fmt: skip
_TYPES = {name: kind for kind, names in _TIMES.items() for name in names}
"""Of functions that sqlglot knows as names only: without one, a column that they make is no time to ORDER BY."""


def annotate_types(tree: exp.Expr, schema: Schema) -> None:
    """Find the types of the expressions of a tree, as far as sqlglot knows them."""
    calls = [
        (node, node.this)
        for node in tree.find_all(exp.Lateral)
        if isinstance(node.this, exp.Explode | exp.ExplodeOuter | exp.Inline)
    ]
    for lateral, call in calls:
        stand_in = exp.Explode(this=call.this)
        stand_in.meta[_STANDS_FOR] = call
        lateral.set("this", stand_in)
    try:
        TypeAnnotator(schema, expression_metadata=_METADATA).annotate(tree)
    finally:
        for lateral, call in calls:
            call.set("this", lateral.this.this)
            lateral.set("this", call)


def _annotate_explode(annotator: TypeAnnotator, call: Any) -> exp.Expr:
    """Annotate a call of EXPLODE, in a LATERAL VIEW for the call that it stands for there."""
    if call.meta_get(_STANDS_FOR) is None:
        return DIALECT.EXPRESSION_METADATA[exp.Explode]["annotator"](annotator, call)
    names, types = call.parent.alias_column_names, _made_of(call.meta[_STANDS_FOR], call.this.type)
    fields = [exp.ColumnDef(this=exp.to_identifier(name), kind=kind) for name, kind in zip(names, types, strict=False)]
    call.type = exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)
    return call


def _annotate_named(annotator: TypeAnnotator, call: Any) -> exp.Expr:
    """Annotate a call of a function that sqlglot does not know."""
    kind = _TYPES.get(call.name.upper())
    if kind is None:
        return DIALECT.EXPRESSION_METADATA[exp.Anonymous]["annotator"](annotator, call)
    call.type = exp.DataType(this=kind)
    return call


_METADATA = {
    **DIALECT.EXPRESSION_METADATA,
    exp.Explode: {"annotator": _annotate_explode},
    exp.Anonymous: {"annotator": _annotate_named},
    # DATE_TRUNC, TRUNC, MAKE_TIMESTAMP, TO_UTC_TIMESTAMP and CONVERT_TIMEZONE.
    exp.TimestampTrunc: {"returns": exp.DType.TIMESTAMP},
    exp.DateTrunc: {"returns": exp.DType.DATE},
    exp.TimestampFromParts: {"returns": exp.DType.TIMESTAMP},
    exp.FromTimeZone: {"returns": exp.DType.TIMESTAMP},
    exp.ConvertTimezone: {"returns": exp.DType.TIMESTAMPNTZ},
}


def _made_of(call: exp.Explode | exp.ExplodeOuter | exp.Inline, kind: exp.DataType | None) -> list[exp.DataType]:
    """Return the types of the columns that a call makes of what it is given, as far as they are known."""
    parts = [part.copy() for part in kind.expressions] if kind is not None else []
    if isinstance(call, exp.Inline):
        fields = parts[0].expressions if parts and parts[0].is_type(exp.DType.STRUCT) else []
        return [
            field.kind or exp.DataType(this=exp.DType.UNKNOWN) for field in fields if isinstance(field, exp.ColumnDef)
        ]
    made = parts if kind is not None and kind.is_type(exp.DType.ARRAY, exp.DType.MAP) else []
    return [exp.DataType(this=exp.DType.INT), *made] if isinstance(call, exp.Posexplode) else made
