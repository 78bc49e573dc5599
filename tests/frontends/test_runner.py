"""Statements through the runner, against an engine without Spark."""

import io
import logging
import os
import re
import signal
import threading

import pyarrow as pa
import pytest
from fake_engine import FakeEngine, FakeQuery, Progress, endless, message, numbers, stream

from cepsql.base.output_formats import FORMATS
from cepsql.errors import DataError, ProgrammingError, Span
from cepsql.frontends.runner import live_rows as view_module
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.error_report import report
from cepsql.frontends.runner.execute import execute
from cepsql.frontends.runner.interrupt import interruptible
from cepsql.frontends.runner.logged_notices import noticed
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.working import share_of
from cepsql.render.answer import Answer
from cepsql.spark.sources.watching.reading_start import ReadingStart


def play(prepared, text, **settings):
    engine = FakeEngine(prepared)
    console = Console(io.StringIO(), io.StringIO())
    execute(engine, text, UserChoices(**{"format": "csv", **settings}), console, threading.Event())
    return console.out.getvalue(), console.err.getvalue(), engine


def test_rows_go_to_one_stream_and_all_else_to_the_other():
    prepared = {
        "create": message("stream s created"),
        "show": Answer(("name", "kind"), (("s", None),), ""),
        "select": FakeQuery([("n", "bigint")], [numbers(1, 2)], streaming=False, notices=["slow"]),
    }
    out, err, _ = play(prepared, "create; show; select", footer=True)
    assert out == "name,kind\ns,\nn\n1\n2\n"
    assert err.splitlines()[:2] == ["stream s created", "notice: slow"]
    assert err.splitlines()[2].startswith("2 rows, ")


def test_parameters_reach_the_engine():
    _, _, engine = play({"a": message("")}, "a", args={"x": 1})
    assert engine.args == [{"x": 1}]


def test_a_drained_stream_ends_by_itself():
    out, err, engine = play({"s": stream(numbers(1, 2), numbers(), numbers(3))}, "s", drain=True)
    assert out == "n\n1\n2\n3\n"
    assert err.startswith("ended: 3 rows, 3 batches, ")
    assert err.splitlines()[1] == "read 3, late 0, malformed 0, matches 0"
    assert engine.prepared["s"].started[0].stopped.is_set()


@pytest.mark.parametrize(("own", "limit", "rows"), [(3, None, 3), (None, 2, 2), (4, 2, 2), (2, 4, 2), (0, None, 0)])
def test_the_smaller_limit_ends_a_stream(own, limit, rows):
    query = stream(numbers(1), numbers(2, 3, 4, 5), limit=own)
    out, err, _ = play({"s": query}, "s", limit=limit)
    assert out.split() == ["n", *map(str, range(1, rows + 1))]
    assert err.startswith(f"limit reached: {rows} rows, ")
    assert query.started[0].stopped.is_set()


def test_a_limit_cuts_a_bounded_result():
    query = FakeQuery([("n", "bigint")], [numbers(1, 2, 3)], streaming=False)
    assert play({"s": query}, "s", limit=2)[0] == "n\n1\n2\n"


def test_a_timeout_ends_a_stream():
    out, err, _ = play({"s": stream(numbers(1))}, "s", timeout=0.3)
    assert out == "n\n1\n"
    assert err.startswith("timeout: 1 row, 1 batch, ")


def test_a_stream_that_fails_is_stopped_and_the_rest_not_executed():
    query = stream(numbers(1), failure=DataError("bad row"))
    engine = FakeEngine({"a": query, "b": message("")})
    console = Console(io.StringIO(), io.StringIO())
    with pytest.raises(DataError, match="bad row"):
        execute(engine, "a; b", UserChoices(), console, threading.Event())
    assert engine.seen == ["a"]
    assert query.started[0].stopped.is_set()


def test_errors_point_into_the_whole_script():
    script = "good;\n\n  -- why\n  bad x ;"

    def failing(text):
        return ProgrammingError("no x", Span(4, 5), "hint", text)

    with pytest.raises(ProgrammingError) as caught:
        play({"good": message(""), "bad x": failing}, script)
    assert (caught.value.line, caught.value.column) == (4, 7)
    assert caught.value.hint == "hint"


class Gone(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_a_reader_that_leaves_ends_stream_and_script_quietly():
    engine = FakeEngine({"a": stream(numbers(1)), "b": message("b was executed")})
    console = Console(Gone(), io.StringIO())
    execute(engine, "a; b", UserChoices(), console, threading.Event())
    assert console.closed.is_set()
    assert engine.seen == ["a"]


def press(*moments: threading.Event) -> None:
    """Send SIGINT to this process when each of these moments has come."""

    def target():
        for moment in moments:
            moment.wait()
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=target, daemon=True).start()


def test_ctrl_c_stops_the_view_and_the_script():
    query = endless()
    engine = FakeEngine({"a": query, "b": message("b was executed")})
    console = Console(io.StringIO(), io.StringIO())
    seen = threading.Event()
    write = console.rows
    console.rows = lambda lines: (write(lines), console.out.getvalue().count("\n") > 3 and seen.set())
    press(seen)
    assert interruptible(lambda stop: execute(engine, "a; b", UserChoices(), console, stop), engine.cancel)
    assert console.err.getvalue().startswith("stopped: ")
    assert engine.seen == ["a"]
    assert query.started[0].stopped.is_set()


def test_ctrl_c_cancels_what_blocks():
    blocked = threading.Event()
    started = threading.Event()

    def work(stop):
        started.set()
        blocked.wait()

    press(started)
    assert interruptible(work, blocked.set)


def test_a_second_ctrl_c_abandons_the_work():
    started, cancelled, never = threading.Event(), threading.Event(), threading.Event()
    press(started, cancelled)
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda stop: started.set() or never.wait(), cancelled.set)
    never.set()


def test_an_error_in_the_work_is_raised_and_the_handler_put_back():
    before = signal.getsignal(signal.SIGINT)

    def work(stop):
        raise DataError("bad")

    with pytest.raises(DataError):
        interruptible(work, lambda: None)
    assert signal.getsignal(signal.SIGINT) is before
    assert interruptible(lambda stop: None, lambda: None) is False


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("form", FORMATS)
def test_no_escape_sequence_in_data_reaches_a_terminal(form, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    rows = pa.table({"n\x1b[1m": ["\x1b[31mred", "\x9b31m", "\u202e\x07\x7f"]})
    query = FakeQuery([("n\x1b[1m", "string")], [rows], streaming=False, notices=["\x1b[2J"])
    console = Console(Terminal(), io.StringIO())
    execute(FakeEngine({"s": query}), "s", UserChoices(format=form), console, threading.Event())
    console.say("\x1b[2J")
    report(DataError("\x1b[2J", hint="\x1b[2J"), console)
    console.err = Terminal()
    console.status("\x1b[2J")
    assert not re.search("[\x07\x7f-\x9f]|\x1b(?!\\[J)", console.out.getvalue() + console.err.getvalue())
    assert ("\u202e" in console.out.getvalue()) == (form in ("csv", "json"))


def test_programs_get_data_as_it_is():
    query = FakeQuery([("n", "string")], [pa.table({"n": ["\x1b[31m"]})], streaming=False)
    assert play({"s": query}, "s")[0] == "n\n\x1b[31m\n"


def test_the_last_line_names_only_what_there_was():
    progress = Progress(rows_read=9, rows_null_time=2, rows_null_key=1, matches=3, timeouts=4)
    assert view_module.summary(progress) == (
        "read 9, late 0, malformed 0, without event time 2, with a NULL key 1, matches 3, timeouts 4"
    )


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        (None, "no micro-batch has run yet: the query is starting, or no input has arrived"),
        ((5, 20), "the first micro-batch is still running"),
    ],
)
def test_a_silent_stream_says_why_on_a_terminal(monkeypatch, tasks, why):
    monkeypatch.setattr(view_module, "SILENCE", 0.0)
    monkeypatch.setenv("TERM", "dumb")
    console = Console(io.StringIO(), Terminal())
    execute(FakeEngine({"s": stream(tasks=tasks)}), "s", UserChoices(timeout=0.5), console, threading.Event())
    said = console.err.getvalue()
    assert f"s: {why}; Ctrl-C stops, and \\drain runs it to the end of its input" in said
    assert f"s no rows{share_of(tasks)} · read 0" in said


@pytest.mark.parametrize(
    ("err", "said"),
    [
        (Terminal(), "notice: a is read from its earliest file on; b is read from Kafka's t from now on\n"),
        (io.StringIO(), "notice: b is read from Kafka's t from now on\n"),
    ],
)
def test_where_reading_starts_is_said_first(monkeypatch, err, said):
    monkeypatch.setenv("TERM", "dumb")
    starts = [
        ReadingStart("a is read from its earliest file on"),
        ReadingStart("b is read from Kafka's t from now on", chosen=True),
    ]
    prepared = {"s": stream(numbers(1), starts=starts), "t": stream(numbers(1), starts=starts[:1])}
    execute(FakeEngine(prepared), "s", UserChoices(drain=True), Console(io.StringIO(), err), threading.Event())
    assert err.getvalue().startswith(f"{said}ended: 1 row")
    if not err.isatty():
        assert play(prepared, "t", drain=True)[1].startswith("ended: 1 row")


def test_warnings_of_standing_queries_are_notices_and_nothing_else(caplog):
    console, logger = Console(io.StringIO(), io.StringIO()), logging.getLogger("cepsql")
    with noticed(console):
        logger.warning("batch %s: the pattern took too many steps", 3)
        logger.info("nothing to tell")
    assert console.err.getvalue() == "notice: batch 3: the pattern took too many steps\n"
    assert not logger.handlers
    assert not caplog.records  # A handler of the root logger, such as Py4J installs, has nothing to add.
    logger.warning("nobody listens")
    assert caplog.records
