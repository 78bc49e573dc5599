"""Statements that PREPARE has given a name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from cepsql.analysis.sql.parameters import bind_parameters, named_values
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import InterfaceError, ProgrammingError, suggestion
from cepsql.language import statements as st
from cepsql.render.answer import Answer

if TYPE_CHECKING:
    from cepsql.catalog.calls import Calls
    from cepsql.catalog.store import Store


class PreparedStatements:
    """What is prepared, by its names in lower case.

    store: returns the catalog that keeps it for all who share that, None for a catalog of this process alone.
    """

    def __init__(self, store: "Callable[[], Store | None]") -> None:
        self._named: dict[str, st.Prepare] = {}
        self._store = store

    @property
    def _calls(self) -> "Calls | None":
        from cepsql.catalog.calls import Calls

        store = self._store()
        return None if store is None else Calls(store.database)

    def prepare(self, prepare: st.Prepare) -> Answer:
        """Execute PREPARE."""
        name, calls = prepare.name.text, self._calls
        if calls is None:
            self._named[name.lower()] = prepare
        else:
            calls.put(name.lower(), prepare.sql, prepare.parameters)
        return Answer(message=f"{name} prepared; EXECUTE {name} runs it")

    def deallocate(self, name: st.Name) -> Answer:
        """Execute DEALLOCATE; raises ProgrammingError for a name that is not prepared."""
        self.named(name)
        if self._named.pop(name.text.lower(), None) is None and (calls := self._calls) is not None:
            calls.remove(name.text.lower())
        return Answer(message=f"{name.text} deallocated")

    def bound(
        self, execute: st.ExecutePrepared, parsed: Callable[[str], list[st.Statement]]
    ) -> tuple[str, st.Statement]:
        """Return the text of a prepared statement, and the statement with the values that EXECUTE gives it.

        Raises ProgrammingError for a name that is not prepared, and for values that do not fit.
        """
        sql, parameters = execute.sql, tuple[str, ...]()
        if execute.name is not None:
            prepared = self.named(execute.name)
            sql, parameters = prepared.sql, prepared.parameters
        assert sql is not None
        inner = parsed(sql)
        if len(inner) != 1 or not isinstance(inner[0], st.ParsedQuery | st.Insert):
            raise ProgrammingError("EXECUTE IMMEDIATE runs one query or INSERT", execute.span)
        for value in execute.values:
            if value.find(exp.Column, exp.Query, exp.Placeholder) is not None:
                raise ProgrammingError("a value of EXECUTE is a constant", span_of(value, execute.span))
        try:
            if parameters and len(execute.values) != len(parameters):
                raise InterfaceError(f"it takes {len(parameters)} values, and {len(execute.values)} were given")
            given = dict(zip(parameters, execute.values, strict=True)) if parameters else execute.values
            return sql, bind_parameters(inner[0], named_values(inner, given))
        except InterfaceError as error:
            raise ProgrammingError(error.message, execute.span) from None

    def named(self, name: st.Name) -> st.Prepare:
        """Return the prepared statement of that name; raises ProgrammingError if it is unknown."""
        found = self._named.get(name.text.lower())
        if found is not None:
            return found
        calls = self._calls
        kept = None if calls is None else calls.get(name.text.lower())
        if kept is not None:
            return st.Prepare(name, *kept)
        known = [*self._named, *([] if calls is None else calls.names())]
        hint = suggestion(name.text, known, "prepared")
        raise ProgrammingError(f"there is no prepared statement {name.text}", name.span, hint)
