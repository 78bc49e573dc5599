"""Tokens: INSERT INTO a stream returns one, with which a reader waits until views contain the rows.

A token is the name of the stream, and the file of the rows, or the end offsets of the partitions of its topic.
"""

import json
import re
import time
from dataclasses import dataclass, field

from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.base.file_watch import file_state, wait_for_change
from cepsql.catalog import MaterializedView, Source
from cepsql.catalog.view_store import ViewSource, view_source
from cepsql.errors import OperationalError, ProgrammingError, Span
from cepsql.language import statements as st
from cepsql.language.translate import one_query
from cepsql.plan.planner import Plan
from cepsql.plan.view_sources import view_sources
from cepsql.render.answer import Answer
from cepsql.standing.statement_host import StatementHost
from cepsql.views.snapshot import ViewPosition, position_of, store_file

WAIT_SECONDS = 30.0
"""How long a statement without TIMEOUT waits."""

_PAUSE = 0.05
_OFFSETS = re.compile(r"\d+:\d+(,\d+:\d+)*")


def wait_for(host: StatementHost, asked: st.WaitFor) -> Answer:
    """Answer WAIT FOR: wait until a view contains the rows of a token.

    Raises ProgrammingError for a name that is not a view, an invalid token, or one of a stream that the view does not
    read, OperationalError after the timeout.
    """
    view = host.catalog.get(asked.name.text, asked.name.span)
    if not isinstance(view, MaterializedView):
        raise ProgrammingError(f"{asked.name.text} is no materialized view", asked.name.span)
    seconds = WAIT_SECONDS if asked.timeout is None else interval_micros(asked.timeout, asked.span) / 1_000_000
    waiting = _Waiting(host, asked.token, asked.span)
    if not waiting.reads(view):
        said = f"view {view.name} does not read {waiting.stream}, the stream of the token"
        raise ProgrammingError(said, asked.name.span)
    batch = waiting.wait(view, time.monotonic() + seconds, seconds)
    return Answer(message=f"view {view.name} has taken it, up to batch {batch}")


def wait_for_views(host: StatementHost, plan: Plan) -> None:
    """Wait until the views that a query reads contain the rows of its AFTER token; errors as for `wait_for`."""
    point = plan.query.point
    if point is None or point.after is None:
        return
    waiting = _Waiting(host, point.after, point.span)
    views = [one.view for one in view_sources(plan) if waiting.reads(one.view)]
    if not views:
        raise ProgrammingError(f"no view of the query reads {waiting.stream}, the stream of the token", point.span)
    end = time.monotonic() + WAIT_SECONDS
    for view in views:
        waiting.wait(view, end, WAIT_SECONDS)


@dataclass
class _Waiting:
    """Waits for the rows of a token.

    taken: the batch of each view that is known to contain them.
    """

    host: StatementHost
    token: str
    span: Span
    taken: dict[str, int] = field(default_factory=dict)
    _origins: dict[str, list] = field(default_factory=dict)
    _logs: dict[tuple[str, str, int], list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The stream of the token."""
        stream, _, place = self.token.rpartition("@")
        if not stream or not place:
            raise ProgrammingError(f"'{self.token}' is no token", self.span, "INSERT INTO a stream gives one")
        return stream

    def reads(self, view: MaterializedView) -> bool:
        """Tell whether a view reads the stream, directly or through the changes of other views."""
        return any(
            self.reads(one.view) if isinstance(one, ViewSource) else one.name.lower() == self.stream.lower()
            for one in self._read_by(view)
        )

    def wait(self, view: MaterializedView, end: float, seconds: float) -> int:
        """Return the batch of a view that contains the rows; raises OperationalError after the timeout."""
        file = store_file(view_source(view, self.host.catalog.view_file))
        while True:
            before = file_state(file)
            if (batch := self._batch(view)) is not None:
                return batch
            if time.monotonic() >= end:
                keeper = self.host.catalog.names.keeper(view).name
                state = self.host.queries[keeper].state.state
                raise OperationalError(
                    f"view {view.name} has not taken '{self.token}' within {seconds:g} seconds: its query is {state}",
                    hint=f"SHOW VIEW POSITIONS tells how far it is, DESCRIBE QUERY {keeper} why",
                )
            wait_for_change(file, before, _PAUSE)

    def _read_by(self, view: MaterializedView) -> list:
        """Return the streams that a view reads, and the views whose changes it reads."""
        if view.name not in self._origins:
            plan = self.host.plan_standing(one_query(view.query.sql), True)
            self._origins[view.name] = [one for one in plan.origins if isinstance(one, Source) and one.streaming]
        return self._origins[view.name]

    def _batch(self, view: MaterializedView) -> int | None:
        if view.name in self.taken:
            return self.taken[view.name]
        # Upstream views come first, so that the view may have read their batches.
        above = {}
        for one in self._read_by(view):
            if isinstance(one, ViewSource) and self.reads(one.view):
                above[one.view.name] = self._batch(one.view)
        position = position_of(view_source(view, self.host.catalog.view_file))
        if position is None or position.batch < 0:
            return None
        for one in self._read_by(view):
            if isinstance(one, ViewSource):
                has = one.view.name not in above or _has_read(position, one, above[one.view.name])
            else:
                has = one.name.lower() != self.stream.lower() or self._has(view, one, position)
            if not has:
                return None
        self.taken[view.name] = position.batch
        return position.batch

    def _has(self, view: MaterializedView, stream: Source, position: ViewPosition) -> bool:
        place = self.token.rpartition("@")[2]
        if _OFFSETS.fullmatch(place):
            topic = next(value for name, value in stream.options if name.lower() == "subscribe")
            wanted = dict(part.split(":") for part in place.split(","))
            return any(_reaches(offsets, topic, wanted) for offsets in _offsets(position).values())
        # Later entries of the logs are beyond the offsets of a batch, so that one read for each batch is enough.
        batch = (view.name, position.checkpoint, position.batch)
        if batch not in self._logs:
            self._logs[batch] = self._came(view, place)
        read = _offsets(position)
        return any(read.get(source, {}).get("logOffset", -1) >= number for source, number in self._logs[batch])

    def _came(self, view: MaterializedView, file: str) -> list[tuple[int, int]]:
        """Return the sources of the query of a view that have listed a file, and the file's number in each log."""
        from cepsql.spark.checkpoint.checkpoint_files import spark_folder
        from cepsql.spark.checkpoint.planned_files import file_of, read_log

        keeper = self.host.catalog.names.keeper(view)
        folder = spark_folder(self.host.home.folder(self.host.home.checkpoint(keeper)))
        log_numbers = []
        for source in (folder / "sources").glob("[0-9]*"):
            logs = {int(place.stem): place for place in source.glob("[0-9]*")}
            for number in sorted(logs, reverse=True):
                log = read_log(logs[number])
                entries = log.entries if log is not None else ()
                # File names are unique, and most entries are of other files.
                near = ((entry, came) for entry, came in entries if file.encode() in entry)
                number_of = next((came for entry, came in near if file_of(entry).path.endswith(f"/{file}")), None)
                if number_of is not None:
                    log_numbers.append((int(source.name), number_of))
                if number_of is not None or logs[number].name.endswith(".compact"):
                    break
        return log_numbers


def _offsets(position: ViewPosition) -> dict[int, dict]:
    """Return the offsets of each source by its number, of those that are objects."""
    offsets = {}
    for number, text in enumerate(position.offsets):
        value = None if text == "-" else json.loads(text)
        if isinstance(value, dict):
            offsets[number] = value
    return offsets


def _has_read(position: ViewPosition, above: ViewSource, batch: int | None) -> bool:
    """Tell whether a view has read the changes of another one up to a batch; None: the other one has no such batch."""
    read = [one["batch"] for one in _offsets(position).values() if one.get("view") == above.name]
    return batch is not None and bool(read) and min(read) >= batch


def _reaches(offsets: dict, topic: str, wanted: dict[str, str]) -> bool:
    read_offsets = offsets.get("next", offsets).get(topic)
    return isinstance(read_offsets, dict) and all(
        int(read_offsets.get(part, 0)) >= int(end) for part, end in wanted.items()
    )


def token_hint(host: StatementHost, token: str | None) -> str:
    """Return the note about a token in an answer, "" if no view reads the stream."""
    if token is None:
        return ""
    stream = host.catalog.names.find(token.rpartition("@")[0])
    read = host.catalog.names.dependents(stream) if stream is not None else []
    return f"; token '{token}'" if any(isinstance(one, MaterializedView) for one in read) else ""
