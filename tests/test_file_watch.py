"""Waiting for a file to change: who waits is told of a change at once, also of one before the waiting began."""

import asyncio
import threading
import time

import pytest

from cepsql.base.file_watch import change_of, file_state, wait_for_change

LONG = 60.0


@pytest.fixture
def path(tmp_path):
    (tmp_path / "file").write_text("a")
    return str(tmp_path / "file")


def later(path: str) -> threading.Timer:
    def write() -> None:
        with open(path, "a") as file:
            file.write("b")

    timer = threading.Timer(0.05, write)
    timer.start()
    return timer


def test_a_change_ends_the_waiting(path):
    before = file_state(path)
    later(path)
    wait_for_change(path, before, LONG)
    assert file_state(path) != before


def test_it_ends_when_its_time_is_over_or_it_is_told_to(path):
    before, end = file_state(path), threading.Event()
    wait_for_change(path, before, 0.02)
    threading.Timer(0.05, end.set).start()
    wait_for_change(path, before, LONG, end)
    assert end.is_set() and file_state(path) == before


def test_all_who_wait_are_told_once_and_those_who_come_late_too(path):
    before, begun = file_state(path), time.monotonic()

    async def wait_twice() -> None:
        later(path)
        await asyncio.gather(*(change_of(path, before, LONG) for _ in range(3)))
        await change_of(path, before, LONG)

    asyncio.run(wait_twice())
    assert time.monotonic() - begun < LONG


def test_a_file_may_appear(tmp_path):
    path = str(tmp_path / "none yet")
    assert file_state(path) is None

    async def wait() -> None:
        later(path)
        await change_of(path, None, LONG)

    asyncio.run(wait())
    assert file_state(path) is not None


def test_nothing_is_left_when_nobody_waits(path):
    async def wait_in_vain() -> None:
        await change_of(path, file_state(path), 0.02)
        task = asyncio.create_task(change_of(path, file_state(path), LONG))
        await asyncio.sleep(0.02)
        task.cancel()

    asyncio.run(wait_in_vain())
    deadline = time.monotonic() + LONG
    while any(thread.name == "cepsql-file-watch" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
