"""CREATE OR REPLACE QUERY: the effect on the state of the query that had the name."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepsql.analysis.sql.canonical import canonical_json
from cepsql.catalog import RegisteredQuery
from cepsql.errors import OperationalError, ProgrammingError, Span
from cepsql.plan.identity import describe_plan
from cepsql.plan.planner import Plan
from cepsql.plan.resolved_references import with_values
from cepsql.plan.upgrade import INCOMPATIBLE, REPLAYABLE, SAME, upgrade

if TYPE_CHECKING:
    from cepsql.standing.home import Home

_REPLAYED = "its next start reads the past input again, writes none of its rows, and continues with the new state"


@dataclass(frozen=True)
class Effect:
    """What replacing a query does.

    said:        a description.
    refused:     it needs a new checkpoint, and the statement does not ask for one.
    differences: where the plans differ.
    checkpoint:  the folder of the checkpoint that the query will have.
    query:       the definition as the catalog will hold it.
    """

    said: str
    refused: bool
    differences: str
    checkpoint: str
    query: RegisteredQuery


@dataclass(frozen=True)
class Replaced:
    """The definition that replaces another one, and a description of the effect."""

    query: RegisteredQuery
    effect: str


def replaced_query(
    home: "Home", before: RegisteredQuery, after: RegisteredQuery, plan: Plan, new: bool, span: Span
) -> Replaced:
    """Return the definition that replaces `before`.

    new: the statement asks for a new checkpoint.
    Raises ProgrammingError if a new one is needed and not asked for, or asked for in the folder of the old one.
    """
    change = effect(home, before, after, plan, new)
    if change.refused:
        hint = "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... begins one, and writes its rows again"
        differs = f": {change.differences}" if change.differences else ""
        raise ProgrammingError(f"query {before.name} would need a new checkpoint{differs}", span, hint)
    if new and "checkpoint" in dict(after.options) and change.checkpoint == home.checkpoint(before):
        hint = "OPTIONS (checkpoint '/another/folder'), or leave the option out"
        raise ProgrammingError(f"a new checkpoint needs another folder than {change.checkpoint}", span, hint)
    return Replaced(change.query, change.said)


def effect(home: "Home", before: RegisteredQuery, after: RegisteredQuery, plan: Plan, new: bool) -> Effect:
    """Return what replacing `before` with `after`, which has the plan, does; `new` as for `replaced_query`."""
    continued = replace(after, id=before.id)
    place, fresh = home.checkpoint(continued), _fresh(after)
    if new:
        return Effect(fresh, False, "", home.checkpoint(after), after)
    identity = kept_identity(home, home.checkpoint(before))
    if identity is None:
        return Effect("it has no checkpoint here that would have to fit", False, "", place, continued)
    if place != home.checkpoint(before):
        return Effect(fresh, True, f"the folder was {home.checkpoint(before)} and is {place}", place, continued)
    described = described_as(plan, identity, continued)
    if described is None:
        said = "its next start tells whether its checkpoint fits, for a reference in its sources has no value here"
        return Effect(said, False, "", place, continued)
    comparison = upgrade(identity, described)
    if comparison.kind == INCOMPATIBLE:
        return Effect(f"incompatible: it needs {fresh}", True, comparison.differences, place, continued)
    if comparison.kind == REPLAYABLE:
        obstacle = _rebuilding_obstacle(home, place)
        if obstacle is not None:
            said = f"incompatible, because its state cannot be rebuilt: it needs {fresh}"
            return Effect(said, True, f"{comparison.differences}; {obstacle}", place, continued)
        return Effect(f"replayable; {_REPLAYED}", False, comparison.differences, place, continued)
    said = "the plan is the same" if comparison.kind == SAME else "compatible"
    return Effect(
        f"{said}; it resumes from its checkpoint, with its state", False, comparison.differences, place, continued
    )


def _fresh(query: RegisteredQuery) -> str:
    start = dict(query.options).get("start")
    return f"a new checkpoint, which reads the input from {start or 'where its streams begin'}"


def kept_identity(home: "Home", checkpoint: str) -> dict | None:
    """Return the identity of the query whose checkpoint a folder holds, None without a checkpoint here."""
    from cepsql.spark.checkpoint import checkpoint as checkpoints

    return checkpoints.kept_identity(home.folder(checkpoint))


def kept_session(home: "Home", query: RegisteredQuery) -> dict[str, str]:
    """Return the Spark settings that the checkpoint of a query was created with and that change what the query means.

    They keep its meaning the same on every machine, even in another time zone.
    """
    identity = kept_identity(home, home.checkpoint(query))
    return {} if identity is None else identity["session"]


def _rebuilding_obstacle(home: "Home", checkpoint: str) -> str | None:
    from cepsql.spark.checkpoint.checkpoint_path import used
    from cepsql.spark.checkpoint.rebuilding import rebuilding_obstacle

    folder = home.folder(checkpoint)
    with used(folder, "read"):
        return rebuilding_obstacle(folder)


def described_as(plan: Plan, identity: dict, query: RegisteredQuery) -> dict | None:
    """Return the identity of the query in the session of a checkpoint, with the query's own settings."""
    from cepsql.spark.frames.user_frames import frame_identity

    options = dict(query.options)
    session = {key: options.get(key, value) for key, value in identity["session"].items()}
    try:
        described = describe_plan(with_values(plan), session, frame_identity)
    except OperationalError:
        return None
    return json.loads(canonical_json(described))


def has_begun(home: "Home", query: RegisteredQuery) -> bool:
    """Tell whether a query has run before; raises OperationalError if it has and its checkpoint is missing."""
    state = home.states.get(query.name)
    progress = (state.progress if state is not None else None) or {}
    if progress.get("id") != query.id:
        return False
    batches = progress.get("batches")
    done = f"has done {batches} batches" if batches else "has run before"
    location = home.checkpoint(query)
    if kept_identity(home, location) is None:
        raise OperationalError(
            f"the checkpoint {location} of query {query.name}, which {done}, is gone",
            hint="put it back, or mount its disk; "
            "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... begins one, and writes its rows again",
        )
    return True
