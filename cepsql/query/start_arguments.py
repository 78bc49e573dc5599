"""How a standing query is to be started."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.analysis.sql.constant_intervals import is_duration
from cepsql.catalog import Sink
from cepsql.errors import InterfaceError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class StartArguments:
    """What `Query.start` was called with; a name of a sink stands for the sink."""

    on_rows: "Callable[[pa.Table, int], None] | None"
    sink: Sink | None
    name: str | None
    epoch: int | None
    drain: bool
    checkpoint: str | Path | None
    trigger: str | None
    upgrades: bool
    resumes: bool


def check_arguments(on_rows: object, sink: object, checkpoint: object, trigger: object) -> None:
    """Raise InterfaceError for arguments of `Query.start` that are of another kind, or exclude each other."""
    if on_rows is not None and not callable(on_rows):
        raise InterfaceError(f"on_rows is a function, not {on_rows!r}")
    if any(map(inspect.iscoroutinefunction, (on_rows, type(on_rows).__call__))):
        hint = "a plain function can hand rows to a loop: asyncio.run_coroutine_threadsafe(show(rows), loop).result()"
        raise InterfaceError("on_rows is an async function, which no loop would run", hint=hint)
    if checkpoint is not None and not isinstance(checkpoint, str | Path):
        raise InterfaceError(f"a checkpoint is a folder, not {checkpoint!r}")
    if trigger is not None and not (isinstance(trigger, str) and is_duration(trigger)):
        raise InterfaceError(f"trigger is a time such as '5 seconds', not {trigger!r}")
    if on_rows is not None and sink is not None:
        raise InterfaceError("rows go either to on_rows or to a sink", hint="leave one of them out")
    if not isinstance(sink, str | Sink | None):
        raise InterfaceError(f"a sink is given by its name or as a Sink, not as {type(sink).__name__}")
