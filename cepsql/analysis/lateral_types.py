"""The types of the columns that LATERAL VIEW makes of arrays and maps."""

from sqlglot import exp
from sqlglot.optimizer.annotate_types import TypeAnnotator
from sqlglot.optimizer.scope import Scope

Types = dict[str, exp.DataType | exp.DType]


class LateralTypes(TypeAnnotator):
    """Finds types as sqlglot does, which by itself takes what is exploded for its elements."""

    def _get_source_scope_selects(self, source: Scope) -> Types:
        lateral = source.expression
        if isinstance(lateral, exp.Lateral) and isinstance(lateral.this, exp.Explode | exp.Inline):
            return dict(zip(lateral.alias_column_names, _made_of(lateral.this), strict=False))
        return super()._get_source_scope_selects(source)


def _made_of(call: exp.Explode | exp.Inline) -> list[exp.DataType | exp.DType]:
    """Return the types of the columns that a call makes, as far as they are known."""
    given = call.this.type
    parts = list(given.expressions) if given is not None else []
    if isinstance(call, exp.Inline):
        fields = parts[0].expressions if parts and parts[0].is_type(exp.DType.STRUCT) else []
        return [field.kind or exp.DType.UNKNOWN for field in fields if isinstance(field, exp.ColumnDef)]
    made = parts if given is not None and given.is_type(exp.DType.ARRAY, exp.DType.MAP) else []
    return [exp.DType.INT, *made] if isinstance(call, exp.Posexplode) else made
