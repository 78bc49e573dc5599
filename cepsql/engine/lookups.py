"""Statements that look up rows of a view by values of its columns, without a plan."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cepsql.analysis.sql.parameters import named_values
from cepsql.catalog import MaterializedView
from cepsql.catalog.catalog_names import CatalogNames
from cepsql.catalog.view_store import ViewSource, view_source
from cepsql.engine.context import Context
from cepsql.language import statements as st

if TYPE_CHECKING:
    from cepsql.views.lookup import Lookup, LookupForm


class PreparedLookup:
    """A statement that may look up rows of a view; its analysis is cached for the catalog's current names."""

    def __init__(self, context: Context, statement: st.Statement):
        self._context, self._statement = context, statement
        # One attribute, so that no thread combines names with another form.
        self._cached: tuple[CatalogNames | None, LookupForm | None] = (None, None)

    def with_values(self, args: Mapping[str, object] | Sequence[object] | None = None) -> "Lookup | None":
        """Return the lookup, None for a statement of another form, or for values that need a plan.

        args: the values of its parameters, as in `Engine.sql`. Raises Error as `Engine.execute`.
        """
        form = self._form()
        return None if form is None else form.with_values(named_values([self._statement], {} if args is None else args))

    def rows_at_once(self, args: Mapping[str, object]) -> list[tuple] | None:
        """Return the rows as Python values if no wait is needed, else None; raises as `with_values`."""
        context, (names, form) = self._context, self._cached
        context.check_open()
        if form is None or not form.by_key or not context.compares_texts_plainly():
            return None
        # Don't access the catalog's store, which could block others.
        looked = form.with_values(args) if names is context.catalog.recent_names() else None
        return None if looked is None else looked.rows_at_once()

    def _form(self) -> "LookupForm | None":
        context, statement = self._context, self._statement
        context.check_open()
        if not isinstance(statement, st.ParsedQuery) or statement.expression.args.get("where") is None:
            return None
        if not context.compares_texts_plainly():
            return None
        context.check_allowed(statement.sql)
        recent = context.catalog.recent_names()
        names = context.catalog.names if recent is None else recent
        if names is not self._cached[0]:
            from cepsql.views.lookup import lookup_form

            def view(name: str) -> ViewSource | None:
                relation = names.find(name)
                if not isinstance(relation, MaterializedView):
                    return None
                return view_source(context.allowed(relation), context.catalog.view_file)

            self._cached = (names, lookup_form(statement, view))
        return self._cached[1]
