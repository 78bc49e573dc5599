"""What a DROP takes that cannot be had again: the state of queries, what goes along with CASCADE, savepoints."""

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
    """What is needed of the `cepsql.engine.context.Context` that would execute the statement."""

    catalog: Catalog

    @property
    def home(self) -> "Home": ...


def loss(host: DropHost, statement: st.Statement) -> str | None:
    """Say what a statement drops that cannot be had again; None for nothing, and for a statement that will be refused.

    A definition alone is none, for it can be typed again; neither are files and tables, which stay.
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
    found = names.query(drop.name.text) if drop.kind == "query" else names.find(drop.name.text)
    if found is None or kind(found) != drop.kind:
        return None
    along = names.dependents(found)
    if along and not drop.cascade:
        return None
    note = _state(host, found)
    if not along and not note:
        return None
    first, *others = [f"{kind(gone)} {gone.name}{_state(host, gone)}" for gone in (found, *along)]
    return f"{first}, and with it {enumerated(others)}" if others else first


def _state(host: DropHost, gone: Definition) -> str:
    """Say in brackets what is kept of a query; "" for nothing."""
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
