"""What a DROP removes for good: the state of queries, dependents with CASCADE, savepoints."""

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from cepsql.catalog import Definition, RegisteredQuery
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.catalog_names import enumerated, kind
from cepsql.errors import Error
from cepsql.language import statements as st
from cepsql.standing.query_report import shown_time
from cepsql.standing.replacement import kept_identity

if TYPE_CHECKING:
    from cepsql.standing.home import Home


class DropHost(Protocol):
    """What this module needs of the `cepsql.engine.context.Context` that would execute the statement."""

    catalog: Catalog

    @property
    def home(self) -> "Home": ...


def loss(host: DropHost, statement: st.Statement) -> str | None:
    """Return what a statement removes for good; None for nothing, and for a statement that will be refused.

    A definition alone does not count, because it can be typed again; nor do files and tables, which stay.
    Raises OperationalError if the catalog cannot be reached.
    """
    match statement:
        case st.DropSavepoint(name):
            savepoint = host.home.savepoints.get(name.text)
            if savepoint is None:
                return None
            return f"savepoint {savepoint.name} (of query {savepoint.query}, made {shown_time(savepoint.made)})"
        case st.Drop():
            return _dropped(host, statement)
    return None


def _dropped(host: DropHost, drop: st.Drop) -> str | None:
    names = host.catalog.names
    dropped = names.query(drop.name.text) if drop.kind == "query" else names.find(drop.name.text)
    if dropped is None or kind(dropped) != drop.kind:
        return None
    along = names.dependents(dropped)
    if along and not drop.cascade:
        return None
    note = _state(host, dropped)
    if not along and not note:
        return None
    first, *others = [f"{kind(gone)} {gone.name}{_state(host, gone)}" for gone in (dropped, *along)]
    return f"{first}, and with it {enumerated(others)}" if others else first


def _state(host: DropHost, gone: Definition) -> str:
    """Return the state of a query in brackets, "" without any."""
    state = host.home.states.get(gone.name) if isinstance(gone, RegisteredQuery) else None
    if state is None:
        return ""
    assert isinstance(gone, RegisteredQuery)
    said = ["runs"] if state.epoch is not None else []
    batches = (state.progress or {}).get("batches")
    if batches:
        said.append(f"state after {batches} batch{'' if batches == 1 else 'es'}")
    elif _has_checkpoint(host, gone):
        said.append("has a checkpoint")
    return f" ({', '.join(said)})" if said else ""


def _has_checkpoint(host: DropHost, query: RegisteredQuery) -> bool:
    with suppress(Error):
        return kept_identity(host.home, host.home.checkpoint(query)) is not None
    return False
