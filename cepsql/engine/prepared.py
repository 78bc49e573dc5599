"""Prepared statements."""

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
    """Prepared statements by lower-case name.

    store: returns the catalog that stores them for all processes that share it, None for a catalog in this process.
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
        """Return the text of a prepared statement, and the statement with the values of EXECUTE.

        Raises ProgrammingError for an unknown name, and for values that do not fit.
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
            arguments = dict(zip(parameters, execute.values, strict=True)) if parameters else execute.values
            return sql, bind_parameters(inner[0], named_values(inner, arguments))
        except InterfaceError as error:
            raise ProgrammingError(error.message, execute.span) from None

    def named(self, name: st.Name) -> st.Prepare:
        """Return the prepared statement of that name; raises ProgrammingError if it is unknown."""
        prepared = self._named.get(name.text.lower())
        if prepared is not None:
            return prepared
        calls = self._calls
        stored = None if calls is None else calls.get(name.text.lower())
        if stored is not None:
            return st.Prepare(name, *stored)
        names = [*self._named, *([] if calls is None else calls.names())]
        hint = suggestion(name.text, names, "prepared")
        raise ProgrammingError(f"there is no prepared statement {name.text}", name.span, hint)
