"""The folder in which a standing query keeps what it needs to go on after a restart."""

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlparse

from cepsql.analysis.canonical import canonical_json, digest
from cepsql.errors import NotSupportedError, OperationalError
from cepsql.plan.identity import spoken_differences
from cepsql.spark.buckets import Buckets
from cepsql.spark.control import is_ended

FORMAT = 3
"""Of plan.json and of all that stands beside it; what an earlier format left is refused, never misread."""

ARROW_SCAN, SPARK_SCAN = "arrow", "spark"
"""Who reads the files of a stream: what a checkpoint knows of them differs, so it stays as it was begun."""


@dataclass(frozen=True)
class Checkpoint:
    """folder/spark is Spark's own, folder/control ends the input, folder/plan.json says whose checkpoint it is.

    identity: what the query is, as data that JSON can hold (`cepsql.plan.identity.describe_plan`).
    """

    folder: Path
    identity: object
    temporary: bool = False
    scan: str = SPARK_SCAN
    buckets: Buckets | None = None

    @property
    def spark(self) -> str:
        """Spark's checkpointLocation."""
        return str(self.folder / "spark")

    @property
    def control(self) -> str:
        """The control folder for `match_stream` and `end_input`."""
        return str(self.folder / "control")


def open_checkpoint(
    folder: str | Path | None,
    identity: object,
    drain: bool = False,
    scan: str = SPARK_SCAN,
    buckets: Buckets | None = None,
) -> Checkpoint:
    """Open or make the checkpoint of the query with that identity; None makes a temporary one.

    drain: the query is to be drained, so a checkpoint whose drain was cut short will do: it is brought to its end.
    scan, buckets: of a new checkpoint (ARROW_SCAN or SPARK_SCAN); an old one keeps its own.
    Raises OperationalError if the folder belongs to another query, another version of cepsql, no query at all, or one
    whose input was ended; NotSupportedError if it is not on a local (or mounted) file system.
    """
    temporary = folder is None
    if folder is None:
        path = Path(tempfile.mkdtemp(prefix="cepsql-checkpoint-"))
    else:
        if urlparse(str(folder)).scheme:
            raise NotSupportedError(f"checkpoint folder {folder} is not a path of a local or mounted file system")
        path = Path(folder).expanduser().absolute()
    checkpoint = Checkpoint(path, identity, temporary, scan, buckets)
    if (path / "plan.json").exists():
        plan = json.loads((path / "plan.json").read_text("utf-8"))
        _verify(checkpoint, plan, drain)
        checkpoint = replace(checkpoint, scan=plan["scan"], buckets=plan["buckets"] and Buckets(**plan["buckets"]))
    elif path.is_dir() and any(path.iterdir()):
        raise OperationalError(f"{path} holds other files and no checkpoint of cepsql", hint="name a folder of its own")
    else:
        (path / "control").mkdir(parents=True)
        _write_plan(checkpoint, finished=False)
    return checkpoint


def finish(checkpoint: Checkpoint) -> None:
    """Record that the input has ended: whatever came now would be late."""
    _write_plan(checkpoint, finished=True)


def discard(checkpoint: Checkpoint) -> None:
    """Remove a temporary checkpoint; others stay."""
    if checkpoint.temporary:
        shutil.rmtree(checkpoint.folder, ignore_errors=True)


def _verify(checkpoint: Checkpoint, plan: dict, drain: bool) -> None:
    hint = "use another checkpoint folder, or remove this one to replay the input from its beginning"
    folder = checkpoint.folder
    if plan.get("format") != FORMAT:
        raise OperationalError(f"the checkpoint {folder} is in the format of another version of cepsql", hint=hint)
    if canonical_json(plan.get("plan")) != canonical_json(checkpoint.identity):
        differing = spoken_differences(plan.get("plan"), json.loads(canonical_json(checkpoint.identity)))
        raise OperationalError(f"the checkpoint {folder} belongs to a different query: {differing}", hint=hint)
    if plan.get("finished") or (is_ended(checkpoint.control) and not drain):
        raise OperationalError(
            f"the input of checkpoint {folder} was ended: every further row would be late", hint=hint
        )


def _write_plan(checkpoint: Checkpoint, finished: bool) -> None:
    plan = {
        "format": FORMAT,
        "hash": digest(checkpoint.identity),
        "plan": checkpoint.identity,
        "finished": finished,
        "scan": checkpoint.scan,
        "buckets": checkpoint.buckets and asdict(checkpoint.buckets),
    }
    new = checkpoint.folder / "plan.json.new"
    new.write_text(json.dumps(plan, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(new, checkpoint.folder / "plan.json")
