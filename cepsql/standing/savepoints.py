"""Savepoints of standing queries: made at a stop, and used as the start of other queries."""

import re
import uuid
from typing import TYPE_CHECKING

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.savepoint_names import Savepoint
from cepsql.errors import OperationalError, ProgrammingError, Span, suggestion
from cepsql.plan.planner import Plan
from cepsql.plan.upgrade import INCOMPATIBLE, upgrade
from cepsql.standing.replacement import described_as, kept_identity

if TYPE_CHECKING:
    from cepsql.standing.home import Home


def check_savepoint(home: "Home", query: RegisteredQuery, name: str) -> None:
    """Refuse a savepoint whose name is taken, or of a query without a checkpoint here; raises ProgrammingError."""
    if home.savepoints.get(name) is not None:
        raise ProgrammingError(f"savepoint {name} exists already", hint=f"DROP SAVEPOINT '{name}'")
    folder = home.checkpoint(query)
    if kept_identity(home, folder) is None:
        raise ProgrammingError(
            f"query {query.name} has no checkpoint in {folder} yet", hint=f"START QUERY {quoted_name(query.name)}"
        )


def make_savepoint(home: "Home", query: RegisteredQuery, name: str) -> Savepoint:
    """Copy the checkpoint of a stopped query.

    Raises OperationalError if it cannot be copied or runs again, ProgrammingError if the name is taken.
    """
    from cepsql.spark.checkpoint.checkpoint_path import remove_tree
    from cepsql.spark.checkpoint.savepoint import save_checkpoint

    checkpoint = home.folder(home.checkpoint(query))
    plain = re.sub(r"[^\w.-]", "_", name)
    folder = checkpoint.with_name(f"{checkpoint.name}.savepoints") / f"{plain}-{uuid.uuid4().hex[:8]}"
    savepoint = Savepoint(name, query.name, str(folder))
    save_checkpoint(checkpoint, folder)
    if not home.savepoints.add(savepoint):
        remove_tree(folder)
        raise ProgrammingError(f"savepoint {name} exists already")
    return savepoint


def begin_from(home: "Home", query: RegisteredQuery, plan: Plan, name: str, span: Span) -> None:
    """Create the checkpoint of a query that is being defined as a copy of a savepoint.

    Raises ProgrammingError if there is no such savepoint or it is of a query with another meaning, OperationalError
    if it cannot be copied.
    """
    from cepsql.spark.checkpoint.savepoint import begin_checkpoint

    savepoint = get_savepoint(home, name, span)
    identity = kept_identity(home, savepoint.folder)
    if identity is None:
        raise OperationalError(f"the folder {savepoint.folder} of savepoint {name} is not there", span)
    described = described_as(plan, identity, query)
    comparison = None if described is None else upgrade(identity, described)
    if comparison is not None and comparison.kind == INCOMPATIBLE:
        message = f"savepoint {name} is of a query with another meaning: {comparison.differences}"
        raise ProgrammingError(message, span, "without FROM SAVEPOINT the query reads its input from the beginning")
    begin_checkpoint(home.folder(savepoint.folder), home.folder(home.checkpoint(query)))


def drop_savepoint(home: "Home", name: str, span: Span) -> str:
    """Remove a savepoint and its folder; queries that started from it have copies of their own.

    Return a note if the folder stays, for example on a disk that is read-only or not mounted, else ''.
    """
    from cepsql.spark.checkpoint.checkpoint_path import remove_tree

    folder = home.folder(get_savepoint(home, name, span).folder)
    there = folder.exists()
    home.savepoints.remove(name)
    remove_tree(folder)
    if folder.exists():
        return f"; its folder {folder} could not be removed"
    return "" if there else f"; its folder {folder} was not there: if its disk is not mounted, it is still on it"


def get_savepoint(home: "Home", name: str, span: Span) -> Savepoint:
    """Return the savepoint with a name; raises ProgrammingError if it does not exist."""
    savepoint = home.savepoints.get(name)
    if savepoint is None:
        names = [other.name for other in home.savepoints.all()]
        raise ProgrammingError(f"there is no savepoint {name}", span, suggestion(name, names, "savepoints"))
    return savepoint
