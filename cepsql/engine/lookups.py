"""Statements that look rows of a view up by values of its columns, for which no plan is made."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cepsql.analysis.sql.parameters import bind_parameters, named_values
from cepsql.catalog import MaterializedView
from cepsql.catalog.view_store import ViewSource, view_source
from cepsql.engine.context import Context
from cepsql.language import statements as st

if TYPE_CHECKING:
    from cepsql.views.lookup import Lookup


def looked_up(
    context: Context, statement: st.Statement, args: Mapping[str, object] | Sequence[object]
) -> "Lookup | None":
    """Return what a statement looks up, None for one of another form. Raises Error for parameters without values."""
    if not isinstance(statement, st.ParsedQuery) or statement.expression.args.get("where") is None:
        return None
    from cepsql.readers.scan.row_expressions import Unlike
    from cepsql.views.lookup import lookup

    def view(name: str) -> ViewSource | None:
        found = context.catalog.names.find(name)
        if not isinstance(found, MaterializedView):
            return None
        return view_source(context.allowed(found), context.catalog.view_file)

    try:
        context.reading_rules()
    except Unlike:
        return None
    context.check_allowed(statement.sql)
    return lookup(bind_parameters(statement, named_values([statement], args)), view)
