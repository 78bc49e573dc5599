"""Where reading starts, in words; without Spark."""

import pytest

from cepsql.catalog import Backfill, Registered, Source
from cepsql.spark.sources.watching.reading_start import reading_starts

KAFKA = (("subscribe", "t"),)
HISTORY = Source("old", (), "parquet", streaming=False)


def stream(format: str, *options: tuple[str, str], **more) -> Source:
    return Source("s", (), format, options, **more)


@pytest.mark.parametrize(
    ("source", "said", "chosen"),
    [
        (stream("kafka", *KAFKA), "from Kafka's t from now on (FROM EARLIEST reads what is there, too)", True),
        (stream("kafka", *KAFKA, ("startingoffsets", "earliest")), "from Kafka's t from the earliest records on", True),
        (
            stream("kafka", *KAFKA, ("startingtimestamp", "2026-01-01")),
            "from Kafka's t from the records of 2026-01-01 on", True,
        ),
        (
            stream("Kafka", *KAFKA, ("startingOffsets", '{"t": {"0": 5}}')),
            "from Kafka's t from the offsets that OPTIONS names", True,
        ),
        (
            stream("kafka", ("subscribePattern", "t.*"), ("startingoffsetsbytimestamp", "{}")),
            "from Kafka's t.* from the times that OPTIONS names", True,
        ),
        (stream("json", ("path", "in")), "from its earliest file on", False),
        (stream("CSV", ("latestFirst", "TRUE")), "from its latest files back to the earliest", True),
        (stream("rate"), "from now on", False),
        (stream("socket"), "from now on", False),
        (
            stream("kafka", *KAFKA, backfill=Backfill(HISTORY, "DATE '2026-01-01'")),
            "from table old up to DATE '2026-01-01', then from Kafka's t from now on "
            "(FROM EARLIEST reads what is there, too)", True,
        ),
        (
            stream("json", backfill=Backfill(HISTORY, "DATE '2026-01-01'")),
            "from table old up to DATE '2026-01-01', then from its earliest file on", True,
        ),
    ],
)  # fmt: skip
def test_where_a_stream_is_read_from(source, said, chosen):
    (start,) = reading_starts([source], None)
    assert (start.said, start.chosen) == (f"s is read {said}", chosen)


def test_what_only_others_know_is_not_said():
    frame = Registered("f", (), None, streaming=True)
    assert reading_starts([stream("delta"), frame, HISTORY], None) == []


def test_a_checkpoint_is_gone_on_from(tmp_path):
    def said() -> list[str]:
        return [start.said for start in reading_starts([stream("rate"), stream("json")], tmp_path)]

    begins = ["s is read from now on", "s is read from its earliest file on"]
    assert said() == begins
    for log in ("offsets", "commits"):
        (tmp_path / "spark" / log).mkdir(parents=True)
    assert said() == begins
    (tmp_path / "spark" / "offsets" / "0").touch()
    assert said() == ["it does the first batch of its checkpoint again, which was cut short"]
    for number in range(13):
        (tmp_path / "spark" / "commits" / str(number)).touch()
    (tmp_path / "spark" / "offsets" / "13").touch()
    assert said() == ["it resumes after batch 12 of its checkpoint"]
