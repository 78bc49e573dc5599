"""How the rows of a stream appear on a screen, which here is a text that pretends to be a terminal."""

import io
import os
import re
import threading
import time

import pyarrow as pa
import pytest
from fake_engine import FakeQuery

from cepsql.errors import InterfaceError
from cepsql.frontends.runner import console_streams as console_module
from cepsql.frontends.runner import working as working_module
from cepsql.frontends.runner.bounded import write_bounded
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.stream_rows import stream_rows
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.working import share_of, working

COLUMNS = [("key", "string"), ("n", "int")]


class Screen(io.StringIO):
    def isatty(self):
        return True

    def fileno(self):
        return 1


@pytest.fixture
def screen(monkeypatch):
    """A console of ten lines of 40 cells, and what was written to it."""
    text = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console_module.os, "get_terminal_size", lambda _: os.terminal_size((40, 10)))
    return Console(text, text), text


def batch(*rows: tuple[str, int]) -> pa.Table:
    return pa.table({"key": [key for key, _ in rows], "n": pa.array([n for _, n in rows], pa.int32())})


def test_the_header_stands_on_every_page(screen):
    console, text = screen
    rows = stream_rows(COLUMNS, "UTC", UserChoices(), console)
    rows.begin()
    assert text.getvalue() == ""
    rows.write(batch(("a long key, which the column is made to fit", 1)))
    rows.write(batch(*((str(i), i) for i in range(8))))
    lines = text.getvalue().splitlines()
    assert [i for i, line in enumerate(lines) if line.startswith(" key")] == [0, 9]
    assert lines[2] == " a long key, which the c… |           1"
    assert all(len(line) <= 40 for line in lines)


def test_a_stream_without_rows_has_a_header(screen):
    console, text = screen
    rows = stream_rows(COLUMNS, "UTC", UserChoices(), console)
    rows.begin()
    rows.end()
    assert text.getvalue().startswith(" key              |           n\n---")


def test_a_table_that_refreshes(screen):
    console, text = screen
    rows = stream_rows(COLUMNS, "UTC", UserChoices(live=("KEY",)), console)
    rows.begin()
    rows.write(batch(("a", 1), ("b", 2), ("a", 3)))
    rows.note("3 s no rows")
    rows.write(batch(("b", 4)))
    rows.end()
    written = text.getvalue()
    assert written.count("\x1b[A") == 3 + 4 + 3
    last = re.split(r"\x1b\[J", written)[-1].splitlines()
    assert [line.split(" | ")[0].strip() + line.split("|")[1].strip() for line in last[2:]] == ["b4", "a3"]


def test_a_table_that_refreshes_writes_over_nothing_that_came_while_it_was_stopped(screen):
    console, text = screen
    rows = stream_rows(COLUMNS, "UTC", UserChoices(live=("KEY",)), console)
    rows.begin()
    rows.write(batch(("a", 1), ("b", 2)))
    console.resumed()
    rows.write(batch(("b", 3)))
    assert "\x1b[A" not in text.getvalue()


def test_more_keys_than_lines(screen):
    console, text = screen
    rows = stream_rows(COLUMNS, "UTC", UserChoices(live=("key",)), console)
    rows.write(batch(*((f"k{i}", i) for i in range(50))))
    shown = re.split(r"\x1b\[J", text.getvalue())[-1].splitlines()
    assert shown[-1] == "and 45 rows more"
    assert len(shown) < 10


def test_changes_of_a_table_that_refreshes(screen):
    console, text = screen
    rows = stream_rows([*COLUMNS, ("op", "string")], "UTC", UserChoices(live=("key",)), console)
    changes = [("a", 1, "+I"), ("b", 2, "+I"), ("a", 1, "-U"), ("a", 3, "+U"), ("b", 2, "-D")]
    for start in (0, 3):
        part = changes[start : start + 3]
        columns = [[row[0] for row in part], pa.array([row[1] for row in part], pa.int32()), [row[2] for row in part]]
        rows.write(pa.table(columns, ["key", "n", "op"]))
    rows.end()
    assert [line.split() for line in text.getvalue().splitlines()[-1:]] == [["a", "|", "3", "|", "+U"]]


def test_a_table_by_a_column_that_is_not_there(screen):
    with pytest.raises(InterfaceError, match="no column kex to refresh the table by"):
        stream_rows(COLUMNS, "UTC", UserChoices(live=("kex",)), screen[0])


def test_a_sign_of_life(screen, monkeypatch):
    console, text = screen
    monkeypatch.setattr(working_module, "_FIRST", 0.0)
    with working(console, lambda: "waiting for Spark"):
        end = time.monotonic() + 20
        while "waiting for Spark · 0 s" not in text.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert "waiting for Spark · 0 s" in text.getvalue()
    assert text.getvalue().endswith("\x1b[J")


def test_the_sign_says_how_much_is_done(screen, monkeypatch):
    console, text = screen
    monkeypatch.setattr(working_module, "_FIRST", 0.0)

    def pieces():
        end = time.monotonic() + 20
        while " tasks" not in text.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        yield batch(("a", 1))

    monkeypatch.setattr(console_module.os, "get_terminal_size", lambda _: os.terminal_size((80, 10)))
    query = FakeQuery(COLUMNS, pieces(), streaming=False, tasks=(5, 20))
    write_bounded(query, "UTC", UserChoices(), console, threading.Event())
    assert "working [#####...............] 5 of 20 tasks · 0 s" in text.getvalue()
    assert share_of((1, 2)) == share_of(None) == ""


def test_no_sign_over_what_is_shown(screen, monkeypatch):
    console, text = screen
    monkeypatch.setattr(working_module, "_FIRST", 0.0)
    console.status("stopping")
    with working(console):
        time.sleep(0.1)
    assert "working" not in text.getvalue()
