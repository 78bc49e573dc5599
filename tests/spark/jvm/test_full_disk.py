"""Which disk is full, where Spark does not say it."""

from pathlib import Path

import pytest

from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.spark.jvm.messages import full_disk
from cepsql.spark.jvm.messages.full_disk import Place, explain_full, full_disks_named, written_places

PLACES = [Place("the checkpoint", Path("/c")), Place("sink o at", Path("/out"))]
FULL = "No space left on device"


@pytest.mark.parametrize(
    ("said", "full", "message", "hint"),
    [
        (FULL, "/out", f"sink o at /out cannot be written: {FULL}", "wait"),
        (f"OSError: [Errno 28] {FULL}", "/c", f"the checkpoint /c cannot be written: {FULL}", "wait"),
        (FULL, None, FULL, "one of these had no room: the checkpoint /c, sink o at /out; wait"),
        (f"/out/1.csv: {FULL}", "/c", f"/out/1.csv: {FULL}", "wait"),
        ("another error", "/c", "another error", None),
    ],
)
def test_the_place_is_named(monkeypatch, said, full, message, hint):
    monkeypatch.setattr(full_disk, "_is_full", lambda path: str(path) == full)
    error = explain_full(OperationalError(said, detail="trace"), PLACES, "wait")
    assert (error.message, error.hint, error.detail) == (message, hint, "trace")


def test_where_a_query_writes(spark, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one, /two")
    sink = Sink("o", (), "csv", (("path", "file:/out"),))
    places = [(place.what, str(place.path)) for place in written_places(spark, sink, ["/late"])]
    temporary = [("Spark's temporary folder", "/one"), ("Spark's temporary folder", "/two")]
    assert places == [("sink o at", "/out"), ("the folder of late rows", "/late"), *temporary]
    assert written_places(spark, Sink("o", (), "csv", (("path", "s3a://b/out"),)))[0].what == "Spark's temporary folder"


def test_of_a_bounded_query(spark, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one")
    monkeypatch.setattr(full_disk, "_is_full", lambda path: True)
    said = f"Spark's temporary folder /one cannot be written: {FULL}"
    with pytest.raises(OperationalError, match=said), full_disks_named(spark):
        raise OperationalError(FULL)


def test_room_is_that_of_the_folder_that_will_hold_it(tmp_path):
    assert not full_disk._is_full(tmp_path / "not" / "there")
    assert full_disk._is_full(Path("/proc/not/there"))
