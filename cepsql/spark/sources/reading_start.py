"""Where a query over streams starts to read: what a user should know before its rows come."""

from collections.abc import Iterable
from dataclasses import dataclass

from cepsql.catalog import Registered, Source
from cepsql.plan.start import FROM_NOW
from cepsql.render.readable import Brief
from cepsql.spark.checkpoint.checkpoint_files import last_committed, last_planned, spark_folder
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, used

_FILES = {"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"}


@dataclass(frozen=True, repr=False)
class ReadingStart(Brief):
    """Where reading starts, as a sentence without its full stop.

    chosen: whether that is up to the stream's definition, so that who reads only a log should know it, too.
    """

    said: str
    chosen: bool = False

    def __str__(self) -> str:
        return self.said


def reading_starts(origins: Iterable[Source | Registered], checkpoint: CheckpointPath | None) -> list[ReadingStart]:
    """Return where a query starts to read: in each stream of which that is known, or in its checkpoint.

    checkpoint: the folder that it goes on from, if there is something in it; None for none.
    Raises OperationalError if that cannot be read.
    """
    if checkpoint is not None and (going_on := _going_on(checkpoint)) is not None:
        return [going_on]
    streams = (origin for origin in origins if isinstance(origin, Source) and origin.streaming)
    return [start for stream in streams if (start := _stream_start(stream)) is not None]


def _going_on(checkpoint: CheckpointPath) -> ReadingStart | None:
    with used(checkpoint, "read"):
        spark = spark_folder(checkpoint)
        if (batch := last_committed(spark)) is not None:
            return ReadingStart(f"it resumes after batch {batch} of its checkpoint")
        if last_planned(spark) is not None:
            return ReadingStart("it does the first batch of its checkpoint again, which was cut short")
    return None


def _stream_start(stream: Source) -> ReadingStart | None:
    place = _place(stream)
    if place is None:
        return None
    if stream.backfill is not None:
        history = f"from table {stream.backfill.history.name} up to {stream.backfill.until}"
        return ReadingStart(f"{stream.name} is read {history}, then {place.said}", chosen=True)
    return ReadingStart(f"{stream.name} is read {place.said}", place.chosen)


def _place(stream: Source) -> ReadingStart | None:
    """Return from where on a stream is read, None if only its connector knows."""
    options = {name.lower(): value for name, value in stream.options}
    kind = stream.format.lower()
    if kind == "kafka":
        return ReadingStart(_kafka_place(options), chosen=True)
    if kind in _FILES:
        if options.get("latestfirst", "").lower() == "true":
            return ReadingStart("from its latest files back to the earliest", chosen=True)
        return ReadingStart("from its earliest file on")
    return ReadingStart("from now on") if kind in FROM_NOW else None


def _kafka_place(options: dict[str, str]) -> str:
    topic = options.get("subscribe") or options.get("subscribepattern") or options.get("assign")
    start = options.get("startingoffsets", "latest")
    if "startingtimestamp" in options:
        place = f"from the records of {options['startingtimestamp']} on"
    elif "startingoffsetsbytimestamp" in options or start.startswith("{"):
        place = f"from the {'times' if 'startingoffsetsbytimestamp' in options else 'offsets'} that OPTIONS names"
    elif start.lower() == "earliest":
        place = "from the earliest records on"
    else:
        place = "from now on (FROM EARLIEST reads what is there, too)"
    return f"from Kafka's {topic} {place}"
