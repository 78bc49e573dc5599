"""Draw the pictures of the documentation: `python docs/make_pictures.py [NAME ...]` writes docs/pictures/NAME.svg.

Each holds in its `desc` what it shows, as text, and tests/test_pictures.py compares that with what cepsql shows now.
The one of the shell is a recording of a terminal and needs tmux.
"""

import os
import re
import sys
import tempfile
from datetime import datetime
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from arrival_drawing import arrival
from notebook_svg import CELLS, notebook_facts, notebook_svg, run_cells

import cepsql
from cepsql.catalog.states import FAILED, RUNNING, HistoryEntry
from cepsql.frontends.demo.flight_shell import QUESTIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "pictures"
QUERIES = Path(__file__).parents[1] / "queries"
COLUMNS, ROWS = 104, 34
"""The size of the recorded terminal."""

TYPED = tuple(statement for _, statement in QUESTIONS[1:])
"""The statements in the recording."""

_DESC = re.compile(r"<desc>(.*?)</desc>", re.DOTALL)


def shown(name: str) -> str:
    """Return what a picture shows, as text."""
    found = _DESC.search((FOLDER / f"{name}.svg").read_text("utf-8"))
    assert found is not None, name
    return unescape(found[1])


# The recording of the shell


def shell() -> str:
    """Record the shell of the demo as it finds matches, and as it tells why there is none."""
    from terminal_recorder import Recorder
    from terminal_svg import recording

    with tempfile.TemporaryDirectory() as folder:
        env = {"XDG_STATE_HOME": folder, "CEPSQL_CONFIG": f"{folder}/none", "CI": "1"}
        command = [sys.executable, "-m", "cepsql", "demo", "--quick", "--shell"]
        with Recorder(command, COLUMNS, ROWS, {**env, "PATH": os.environ["PATH"]}) as terminal:
            terminal.wait(_at_the_prompt)
            # Spark is up, and its workers are warm.
            terminal.type(f"{TYPED[0]}\n")
            terminal.wait(lambda text: "ended: " in text and _at_the_prompt(text))
            terminal.press("C-l")
            terminal.forget()
            terminal.wait(lambda text: text.strip() == "cepsql>")
            for statement in TYPED:
                before = terminal.text().count("cepsql>")
                terminal.type(f"{statement}\n")
                terminal.wait(lambda text, before=before: text.count("cepsql>") > before and _at_the_prompt(text))
                terminal.hold()
            # What was cleared may stand in the scrollback once more.
            whole = terminal.text()
            session = whole[whole.rindex(f"cepsql> {TYPED[0]}".split("\n")[0]) :].removesuffix("cepsql>").rstrip()
            frames = terminal.frames()
    return recording(frames, COLUMNS, ROWS, "cepsql", session)


def _at_the_prompt(text: str) -> bool:
    return text.rsplit("\n", 1)[-1].strip() == "cepsql>"


# Drawings of matplotlib

Facts = str
"""What a drawing shows, as text."""


def matches(engine: "cepsql.Engine") -> "Figure":
    """Draw the matches of queries/price_v_shape.sql on their series."""
    return engine.query((QUERIES / "price_v_shape.sql").read_text("utf-8")).plot("at", "price")


def progress(_: "cepsql.Engine") -> "Figure":
    """Draw the history of a query that failed once and was started again."""
    from cepsql.standing.drawn_history import draw_history

    return draw_history("fraud", _history())


def _history() -> list[HistoryEntry]:
    begin = datetime.fromisoformat("2026-03-02T10:00:00+00:00").timestamp()
    entries, read = [HistoryEntry(begin, RUNNING, "started", None)], 0
    for step in range(1, 61):
        at = begin + 10 * step
        if 30 <= step < 36:
            # It failed at the thirtieth, and was started again at the thirty-sixth.
            if step == 30:
                entries.append(HistoryEntry(at, FAILED, "the database does not answer", None))
            continue
        # The rate goes up and down by a quarter; what came meanwhile is read at once.
        read += 2000 + 500 * (step % 8 - 4) // 4 + (12_000 if step == 36 else 0)
        lag, held = 4 + step % 3 + (55 if step == 36 else 0), 900 + 15 * (step % 20)
        entries.append(
            HistoryEntry(
                at, RUNNING, None,
                {"rows_read": read, "rows_out": read // 40, "state_rows": held, "bound": 10**6 * int(at - lag)},
            )
        )  # fmt: skip
    return entries


def drawn_facts(figure: "Figure") -> Facts:
    """Return what a figure shows: the words, and the points of its lines."""
    lines = []
    for number, axes in enumerate(figure.axes, 1):
        words = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in axes.texts)]
        lines.append(f"{number}: {', '.join(filter(None, words))}")
        for line in axes.lines:
            points = zip(line.get_xdata(), line.get_ydata(), strict=True)
            lines.append(f"  {' '.join(f'({_wall(x)}, {y})' for x, y in points)}")
        for dots in axes.collections:
            lines.append(f"  {dots.get_label()}: {len(dots.get_offsets())}")
    return "\n".join(lines)


def _wall(value: object) -> object:
    """Return a time as clocks show it, whatever their zone."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _saved(figure: "Figure") -> str:
    import io

    import matplotlib

    written = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "cepsql"}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


# The automaton of a pattern


def automaton_text(engine: "cepsql.Engine") -> Facts:
    """Return the automaton of queries/price_v_shape.sql as Mermaid's text."""
    query = (QUERIES / "price_v_shape.sql").read_text("utf-8")
    answer = engine.sql(f"EXPLAIN PATTERN AS mermaid {query}")
    assert isinstance(answer, cepsql.Answer)
    return str(answer)


def _automaton(text: str) -> str:
    import mermaidx

    # Its lines are black, and a text may be wider in the reader's font.
    svg = mermaidx.render(text).svg().replace("background-color: transparent", "background-color: white", 1)
    return svg.replace("<style>", "<style>foreignObject{overflow:visible}", 1)


# Files


def _described(svg: str, title: str, facts: Facts) -> str:
    """Put a title and what is shown into an SVG."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!DOCTYPE[^>]*>\s*|<\?xml[^>]*>\s*", "", svg, flags=re.DOTALL)
    head = f"<title>{escape(title)}</title><desc>{escape(facts)}</desc>"
    return re.sub(r"<svg\b[^>]*>", lambda found: found[0] + head, svg, count=1).rstrip() + "\n"


def facts(name: str, engine: "cepsql.Engine") -> Facts:
    """Return what a picture other than the recording is to show."""
    match name:
        case "matches":
            return drawn_facts(matches(engine))
        case "progress":
            return drawn_facts(progress(engine))
        case "arrival":
            return drawn_facts(arrival(engine))
        case "automaton":
            return automaton_text(engine)
    return notebook_facts(run_cells(engine, CELLS))


def _made(name: str) -> str:
    if name == "shell":
        return shell()
    with cepsql.connect(catalog="") as engine:
        match name:
            case "matches" | "progress" | "arrival":
                figure = {"matches": matches, "progress": progress, "arrival": arrival}[name](engine)
                said = drawn_facts(figure)
                return _described(_saved(figure), NAMES[name], said)
            case "automaton":
                text = automaton_text(engine)
                return _described(_automaton(text), NAMES[name], text)
        cells = run_cells(engine, CELLS)
        return _described(notebook_svg(cells), NAMES[name], notebook_facts(cells))


NAMES = {
    "shell": "A query in the shell finds matches, and EXPLAIN MATCH shows why one is missing",
    "matches": "Matches drawn on the prices that they were found in",
    "progress": "How a standing query does that failed once",
    "arrival": "Rows that arrive out of order, the watermark behind them, and the rows that are late",
    "automaton": "The automaton of a row pattern",
    "notebook": "A pattern in a notebook",
}
"""The pictures, with what they show in short."""

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or NAMES:
        (FOLDER / f"{wanted}.svg").write_text(_made(wanted), "utf-8")
