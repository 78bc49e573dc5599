"""The demo's figures are those of a few plain loops over the same files."""

import csv
import gzip
import itertools
import re
from collections import defaultdict
from datetime import datetime, timedelta

import pytest

from cepsql.engine import connect
from cepsql.frontends.demo import play
from cepsql.frontends.demo.replay import SLICE, lay_out
from cepsql.frontends.demo.scenes import GROWING_DELAY, SCENES

WATERMARK_DELAY = timedelta(hours=1)


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("replay"), files=3, limit=10_000)


def test_replay_holds_what_it_says(replay):
    kinds = [kind for kind, _ in read(replay.folder)]
    assert len(kinds) == replay.rows == 10_000
    assert kinds.count("late") == replay.late > 0
    assert kinds.count("malformed") == replay.malformed > 0
    assert kinds.count("cancelled") == replay.cancelled > 0


def test_replay_changes_nothing_else(replay):
    with gzip.open(SLICE / "2013-01.csv.gz", "rt", newline="") as lines:
        original = list(itertools.islice(csv.DictReader(lines), replay.rows))
    played = [row | {"delay": row["delay"].removesuffix(" minutes")} for _, row in read(replay.folder)]
    assert sorted(played, key=str) == sorted(original, key=str)


def test_an_aircraft_that_has_not_left_yet_is_not_explained(replay, tmp_path):
    assert replay.has(GROWING_DELAY.explained)
    assert not lay_out(tmp_path, files=1, limit=10).has(GROWING_DELAY.explained)


def test_the_flights_can_be_had_as_files(replay, tmp_path, capsys):
    folder = tmp_path / "mine" / "flights"
    assert play.main(["--quick", "--data", str(folder)]) == 0
    written, laid_out = ({file.name: file.read_text() for file in at.iterdir()} for at in (folder, replay.folder))
    assert written == laid_out
    said = " ".join(capsys.readouterr().out.split())
    for number in ("10,000 real", f"{replay.late} rows", f"{replay.malformed} are", f"{replay.cancelled} flights"):
        assert number in said


def test_files_of_others_are_left_alone(tmp_path, capsys):
    file = tmp_path / "000.csv"
    file.write_text("mine")
    assert play.main(["--data", str(tmp_path)]) == 2
    assert play.main(["--data", str(file)]) == 2
    said = capsys.readouterr().err
    assert "is not empty" in said and "cannot be written: " in said
    assert file.read_text() == "mine"


def test_demo_finds_what_loops_find(replay, spark, monkeypatch, capsys):
    monkeypatch.setattr(play, "connect", lambda **_: connect(spark))
    assert play.main(["--quick", "--all"]) == 0
    out = capsys.readouterr().out
    rows = [row for kind, row in read(replay.folder) if kind == "used"]
    counts = (
        f"10,000 rows read in .* batches, {replay.late} late, {replay.malformed} malformed, {replay.cancelled} without"
    )
    whole = re.sub(r"\n +", " ", out)
    words = " ".join(out.split())
    assert len(re.findall(counts, whole)) == 2
    growing = growing_delays(rows)
    assert growing and f"; {len(growing)} matches, 0 timeouts" in whole
    for tailnum, departed in growing:
        left = rf"{departed:%b} {departed.day}: {tailnum} of \w+ left \w+ at {departed:%H:%M}"
        assert re.search(rf"{left}, \d+ min late, and its next flights \d+ and \d+ ", words)
    quiet, back = gone_quiet(rows)
    assert quiet and f"; {back} matches, {len(quiet)} timeouts" in whole
    for tailnum, departed in quiet:
        assert re.search(
            rf"{departed:%b} {departed.day}: {tailnum} left .* at {departed:%H:%M},", " ".join(out.split())
        )
    statements = [scene.query for scene in SCENES]
    assert all(f"   {line}" in out.splitlines() for query in statements for line in f"{query};".splitlines())
    assert out.count("EXPLAIN MATCH shows:") == 1 and f"key: tailnum = {GROWING_DELAY.explained}\n" in out
    assert "best attempt: 2 rows taken, then WITHIN ended it" in out
    assert "cepsql demo --shell" in out
    hours = hourly_means([row for kind, row in read(replay.folder) if kind in ("used", "late")])
    assert f"{len(hours):,} hourly means" in out


def test_matches_are_told_as_they_are_found(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "104")
    first_rows = play._FirstRows(SCENES[1], most=2)
    late = {"tailnum": "N1", "origin": "JFK", "dest": "SFO", "delay": 300}
    first_rows.add([late | {"departed": datetime(2013, 1, 3)}, late | {"departed": datetime(2013, 1, 2)}])
    first = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].strip() for line in first] == ["Jan 2", "Jan 3"]
    first_rows.add([late | {"departed": datetime(2013, 1, 1)}])
    first_rows.end()
    assert capsys.readouterr().out == "   ... and 1 more\n"
    assert len(first_rows.rows) == 3


def test_the_shell_over_the_flights_needs_a_terminal(capsys):
    assert play.main(["--quick", "--shell"]) == 2
    assert "--shell needs a terminal" in capsys.readouterr().err


def read(folder):
    """Yield kind and row of each row, in the order of a stream with a file a batch."""
    bound = ""
    for file in sorted(folder.glob("*.csv")):
        latest = bound
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                if not re.fullmatch(r"-?\d*", row["delay"]):
                    yield "malformed", row
                elif not row["departed"]:
                    yield "cancelled", row
                else:
                    yield "late" if row["departed"] <= bound else "used", row
                    latest = max(latest, str(datetime.fromisoformat(row["departed"]) - WATERMARK_DELAY))
        bound = latest


def by_aircraft(rows):
    """Return the departures (time, delay) of each aircraft in order."""
    legs_by_tailnum = defaultdict(list)
    for row in rows:
        legs_by_tailnum[row["tailnum"]].append((datetime.fromisoformat(row["departed"]), int(row["delay"])))
    return {tailnum: sorted(legs) for tailnum, legs in legs_by_tailnum.items()}


def growing_delays(rows):
    """Return (tailnum, first departure) of each match of flights_growing_delay.sql."""
    growing = []
    for tailnum, legs in by_aircraft(rows).items():
        at = 0
        while at + 2 < len(legs):
            (t1, d1), (_, d2), (t3, d3) = legs[at : at + 3]
            if d1 >= 0 and d2 >= d1 + 30 and d3 >= d2 + 30 and t3 - t1 < timedelta(days=1):
                growing.append((tailnum, t1))
                at += 3
            else:
                at += 1
    return growing


def gone_quiet(rows):
    """Return (tailnum, departure) of each timeout of flights_gone_quiet.sql, and the number of its matches."""
    quiet, back = [], 0
    for tailnum, legs in by_aircraft(rows).items():
        for (departed, delay), following in zip(legs, [*legs[1:], None], strict=True):
            if delay >= 240:
                if following is None or following[0] - departed >= timedelta(days=2):
                    quiet.append((tailnum, departed))
                else:
                    back += 1
    return quiet, back


def hourly_means(rows):
    """Return the airport-hours with at least five departures."""
    counts = defaultdict(int)
    for row in rows:
        counts[row["origin"], row["departed"][:13]] += 1
    return [hour for hour, number in counts.items() if number >= 5]


def test_demo_breaks_its_text_between_words(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    play._tell(f"1. {SCENES[0].question}")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and " ".join(lines) == f"1. {SCENES[0].question}"
