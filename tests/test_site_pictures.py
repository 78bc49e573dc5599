"""The pictures of the documentation show what cepsql shows now; python docs/make_pictures.py draws them."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from typed_shell import alike, typed_again

from cepsql.engine import connect
from cepsql.frontends.demo.replay import lay_out
from cepsql.frontends.demo.scenes import GROWING_DELAY

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def maker():
    for needed in ("matplotlib", "IPython", "mermaidx"):
        pytest.importorskip(needed)
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("make_pictures")
    sys.path.remove(str(ROOT / "docs"))


@pytest.mark.parametrize("name", ["matches", "progress", "arrival", "automaton", "notebook"])
def test_a_drawing_is_current(name, maker, spark):
    assert maker.shown(name) == maker.facts(name, connect(spark, catalog=""))


def test_the_recording_of_the_shell_is_current(maker, spark, tmp_path):
    """What the recorded terminal shows in the end is what the same statements print now."""
    replay = lay_out(tmp_path, files=3, limit=10_000)
    with connect(spark, catalog="") as engine:
        engine.sql(GROWING_DELAY.statements(replay.folder)[0])
        recorded = maker.shown("shell")
        _, screen = typed_again(engine, recorded + "\n")
    assert visible_text(screen) == visible_text(recorded)


def visible_text(screen: str) -> str:
    """Return what a screen shows, without times, the order of rows, and notices, which a terminal has alone."""
    return re.sub(r"^notice: .*\n", "", alike(screen), flags=re.MULTILINE).rstrip()


def test_a_recording_plays_its_frames(maker):
    svg = importlib.import_module("terminal_svg")
    frames = [svg.Frame(("$ \x1b[1;34mSELECT\x1b[0m 1",), (3, 0), 1.0), svg.Frame(("$ <done>",), None, 3.0)]
    text = svg.recording(frames, 20, 3, "t", "$ <done>")
    assert "<desc>$ &lt;done&gt;</desc>" in text
    assert re.search(r'<text [^>]*class="b" style="fill:#79c0ff">SELECT</text>', text)
    assert re.findall(r"([\d.]+)%\{transform", text) == ["0.000", "25.000", "100"]
    # A reader first sees what it ends with.
    assert "4.00s steps(1,end) -1.00s infinite" in text


def test_every_picture_is_made_and_used(maker):
    files = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    used = {name for page in PAGES for name in re.findall(r"pictures/(\w+)\.svg", page.read_text("utf-8"))}
    assert files == used == set(maker.NAMES)
