"""What statements about queries and views need of the engine that executes them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.catalog import ColumnDefinition, Definition
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.locations import located
from cepsql.errors import Span
from cepsql.language import statements as st
from cepsql.plan.planner import Plan

if TYPE_CHECKING:
    from cepsql.standing.home import Home
    from cepsql.standing.queries import Queries


class StatementHost(Protocol):
    """What these statements need of the `cepsql.engine.context.Context` that executes them."""

    catalog: Catalog
    restrictions: Restrictions | None

    @property
    def home(self) -> "Home": ...

    @property
    def queries(self) -> "Queries": ...

    def check_open(self) -> None: ...

    def zone_name(self) -> str | None: ...

    def plan(self, query: st.ParsedQuery) -> Plan: ...

    def plan_standing(self, query: st.ParsedQuery, of_view: bool = False) -> Plan: ...

    def check_setting(self, key: str, value: str | None, span: Span) -> None: ...

    def set_settings(self) -> Mapping[str, str]: ...

    def typed_columns(self, plan: Plan) -> tuple[ColumnDefinition, ...]: ...


def stored_definition(host: StatementHost, definition: Definition) -> Definition:
    """Return a definition as the catalog stores it: with absolute paths if other processes read it.

    Raises ProgrammingError for a definition that the restrictions of the host refuse.
    """
    stored = located(definition) if host.catalog.store is not None else definition
    if host.restrictions is not None:
        host.restrictions.check(stored)
    return stored
