"""The totals of a standing query in its checkpoint, so that they resume exactly after a stop or kill.

They are written with each micro-batch, before Spark commits it. Because a batch without commit is repeated, the totals
before it are also stored.
"""

import contextlib
import json
import logging
from dataclasses import asdict, fields

from cepsql.ordered.counts import Counts
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, move_whole, on_object_store, write_whole
from cepsql.spark.checkpoint.progress import Progress

LOGGER = logging.getLogger("cepsql")
_FILE = "progress.json"
_SINCE_START = (
    "seconds",
    "sink_retries",
    "refresh_failures",
    "late_alerts",
    "waiting",
    "batch_seconds",
    "rows_per_second",
    "records_behind",
    "operators",
    "phases",
)
"""Totals that are not stored."""


class KeptProgress:
    """The totals in the checkpoint `folder`; `committed` is the last batch that Spark has committed.

    begun: the totals as of that batch.
    Raises OSError if they can't be read; damaged totals start over.
    """

    def __init__(self, folder: CheckpointPath, committed: int | None):
        self._file = folder / _FILE
        self.begun = self._last = self._read(committed)

    def keep(self, batch: int, progress: Progress, before: Progress | None = None) -> None:
        """Write the totals as of a batch that is about to commit, and those `before` it, by default the last totals."""
        said = {"batch": batch, "totals": _data(progress), "before": _data(before or self._last)}
        write_whole(self._file, json.dumps(said))
        self._last = progress

    def _read(self, committed: int | None) -> Progress:
        last = -1 if committed is None else committed
        try:
            said = json.loads(self._file.read_text("utf-8"))
            if said["batch"] in (last, last + 1):
                return _progress(said["totals" if said["batch"] == last else "before"])
        except FileNotFoundError:
            if committed is None:
                return Progress()
        except ValueError:
            pass
        LOGGER.warning("%s is missing or damaged: the totals of the query start over, its rows do not", self._file)
        return Progress()


def restarted_totals(folder: CheckpointPath, committed: int | None, target: CheckpointPath) -> None:
    """Write to `target` the record of a checkpoint whose batches start over, with the totals of the one in `folder`."""
    saved = KeptProgress(folder, committed)
    KeptProgress(target, None).keep(0, saved.begun, saved.begun)


def move_record(source: CheckpointPath, target: CheckpointPath) -> None:
    """Move a record to another folder, unless it was moved before."""
    with contextlib.suppress(FileNotFoundError):
        if not on_object_store(target):
            move_whole(source / _FILE, target / _FILE)
            return
        # If interrupted here, the move is repeated before a batch can change the record.
        write_whole(target / _FILE, (source / _FILE).read_bytes())
        (source / _FILE).unlink()


def _data(progress: Progress) -> dict:
    return {name: value for name, value in asdict(progress).items() if name not in _SINCE_START}


def _progress(data: dict) -> Progress:
    names = {field.name for field in fields(Progress)} - {"inputs"}
    inputs = {name: Counts(**counts) for name, counts in data["inputs"].items()}
    return Progress(**{name: value for name, value in data.items() if name in names}, inputs=inputs)
