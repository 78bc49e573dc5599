"""A query whose checkpoint is gone does not begin anew by itself: its rows would come twice."""

from cepsql.catalog import RegisteredQuery
from cepsql.errors import OperationalError
from cepsql.standing.home import Home
from cepsql.standing.replacement import kept_identity


def refuse_lost(home: Home, query: RegisteredQuery) -> None:
    """Raise OperationalError if a query has done batches of which the folder of its checkpoint knows nothing."""
    state = home.states.get(query.name)
    progress = (state.progress if state is not None else None) or {}
    if progress.get("id") != query.id or not progress.get("batches"):
        return
    location = home.checkpoint(query)
    if kept_identity(home, location) is None:
        raise OperationalError(
            f"the checkpoint {location} of query {query.name}, which has done {progress['batches']} batches, is gone",
            hint="put it back, or have its disk here; "
            "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... begins one, and writes its rows anew",
        )
