"""`\\watch`: the last statement again and again, until it is enough."""

import os
import signal
import threading
import time

import pytest
from fake_engine import FakeEngine, FakeQuery, endless, message, numbers
from prompt_toolkit.history import InMemoryHistory
from typed import type_to

from cepsql.errors import DataError

ENTER, CTRL_D = "\r", "\x04"


class Growing:
    """A statement that gives 1, then 2, and so on, and fails instead after so many times."""

    def __init__(self, good: int):
        self.good, self.executed = good, 0

    def __call__(self, text):
        self.executed += 1
        if self.executed > self.good:
            return DataError("no more")
        return FakeQuery([("n", "bigint")], [numbers(self.executed)], streaming=False)


def press_when(condition) -> None:
    """Press Ctrl-C once a condition holds."""

    def press() -> None:
        while not condition():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def watched(statement, command: str, then: str = "") -> tuple[list[str], str, str]:
    engine = FakeEngine({"q": statement, "r": message("the prompt is back")})
    _, out, err = type_to(engine, f"q;{ENTER}{command}{ENTER}{then}{CTRL_D}", InMemoryHistory())
    return engine.seen, out, err


@pytest.mark.parametrize(("times", "executions"), [(0, 1), (1, 2), (3, 4)])
def test_it_ends_after_so_many_times(times, executions):
    seen, out, err = watched(Growing(99), f"\\watch 0.01 {times}", f"r;{ENTER}")
    assert seen == ["q"] * executions + ["r"]
    assert out == "".join(f"n\n{number + 1}\n" for number in range(executions))
    assert err.count("again in 0.01 s; Ctrl-C ends it") == max(times - 1, 0)
    assert "the prompt is back" in err


def test_it_ends_with_the_first_failure():
    seen, _, err = watched(Growing(3), "\\watch 0.01")
    assert seen == ["q"] * 4
    assert "error: no more" in err


def test_ctrl_c_ends_it_between_two_times():
    statement = Growing(99)
    press_when(lambda: statement.executed >= 3)
    seen, _, err = watched(statement, "\\watch 0.05", f"r;{ENTER}")
    assert seen[-1] == "r"
    assert 3 <= seen.count("q") < 99
    assert "the prompt is back" in err


def test_ctrl_c_ends_it_while_the_statement_runs():
    first, later = FakeQuery([("n", "bigint")], [numbers(1)], streaming=False), endless()
    results = iter([first, later])
    press_when(lambda: later.started and later.started[0].progress.batches)
    seen, _, err = watched(lambda _: next(results), "\\watch", f"r;{ENTER}")
    assert seen == ["q", "q", "r"]
    assert "stopped: " in err
    assert "the prompt is back" in err


@pytest.mark.parametrize("wrong", ["soon", "1 often", "1 2 3", "-1"])
def test_wrong_numbers_are_refused(wrong):
    seen, _, err = watched(Growing(99), f"\\watch {wrong}")
    assert seen == ["q"]
    assert "\\watch takes a number of seconds, and how often" in err
