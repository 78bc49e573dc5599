"""Statements that PREPARE has given a name."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.parameters import bind_parameters, named_values
from cepsql.analysis.sql.positions import span_of
from cepsql.answer import Answer
from cepsql.errors import InterfaceError, ProgrammingError, suggestion
from cepsql.language import statements as st


class PreparedStatements:
    """The texts that are prepared, by their names in lower case."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def prepare(self, prepare: st.Prepare) -> Answer:
        """Execute PREPARE."""
        name = prepare.name.text
        self._texts[name.lower()] = prepare.sql
        return Answer(message=f"{name} prepared; EXECUTE {name} runs it")

    def deallocate(self, name: st.Name) -> Answer:
        """Execute DEALLOCATE; raises ProgrammingError for a name that is not prepared."""
        if self._texts.pop(name.text.lower(), None) is None:
            raise self._not_prepared(name)
        return Answer(message=f"{name.text} deallocated")

    def bound(
        self, execute: st.ExecutePrepared, parsed: Callable[[str], list[st.Statement]]
    ) -> tuple[str, st.Statement]:
        """Return the text of a prepared statement, and the statement with the values that EXECUTE gives it.

        Raises ProgrammingError for a name that is not prepared, and for values that do not fit.
        """
        sql = execute.sql
        if execute.name is not None:
            if execute.name.text.lower() not in self._texts:
                raise self._not_prepared(execute.name)
            sql = self._texts[execute.name.text.lower()]
        assert sql is not None
        inner = parsed(sql)
        if len(inner) != 1 or not isinstance(inner[0], st.Query | st.Insert):
            raise ProgrammingError("EXECUTE IMMEDIATE runs one query or INSERT", execute.span)
        for value in execute.values:
            if value.find(exp.Column, exp.Query, exp.Placeholder) is not None:
                raise ProgrammingError("a value of EXECUTE is a constant", span_of(value, execute.span))
        try:
            return sql, bind_parameters(inner[0], named_values(inner, execute.values))
        except InterfaceError as error:
            raise ProgrammingError(error.message, execute.span) from None

    def _not_prepared(self, name: st.Name) -> ProgrammingError:
        hint = suggestion(name.text, self._texts, "prepared")
        return ProgrammingError(f"there is no prepared statement {name.text}", name.span, hint)
