"""Execute the statements of a text one after the other."""

import threading
import time

import pyarrow as pa

from cepsql.engine import Answer, Engine, Query
from cepsql.errors import Error
from cepsql.language.parse import split
from cepsql.render import renderer
from cepsql.runner.console import Console
from cepsql.runner.report import anchored
from cepsql.runner.settings import Settings
from cepsql.runner.view import counted, view


def execute(engine: Engine, text: str, settings: Settings, console: Console, stop: threading.Event) -> None:
    """Execute the statements of a text in order and write their results; return early once `stop` is set.

    Raises Error, its position in `text`, at the first statement that fails.
    """
    for offset, statement in split(text):
        try:
            for item in engine.execute(statement, dict(settings.args)):
                _show(engine, item, settings, console, stop)
        except Error as error:
            raise anchored(error, text, offset, statement) from error
        if stop.is_set() or console.closed.is_set():
            return


def _show(engine: Engine, item: Query | Answer, settings: Settings, console: Console, stop: threading.Event) -> None:
    if isinstance(item, Answer):
        _answer(item, settings, console)
        return
    for notice in item.notices:
        console.say(f"notice: {notice}")
    if console.live:
        console.status("waiting for Spark")
    if item.streaming:
        view(item, _zone(engine), settings, console, stop)
    else:
        _bounded(item, _zone(engine), settings, console)


def _zone(engine: Engine) -> str:
    zone = engine.spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    return zone


def _answer(answer: Answer, settings: Settings, console: Console) -> None:
    if answer.columns:
        columns = [(name, "string") for name in answer.columns]
        values = [[_plain(row[i]) for row in answer.rows] for i in range(len(columns))]
        rows = pa.table([pa.array(v, pa.string()) for v in values], list(answer.columns))
        _write(columns, "UTC", rows, settings, console)
    if answer.text:
        console.rows(answer.text.splitlines())
    if answer.message:
        console.say(answer.message)


def _plain(value: object) -> str | None:
    return None if value is None else str(value)


def _bounded(query: Query, zone: str, settings: Settings, console: Console) -> None:
    begin = time.monotonic()
    result = query.arrow()
    if settings.limit is not None:
        result = result.slice(0, settings.limit)
    _write(query.columns, zone, result, settings, console)
    if query.malformed:
        console.say(f"{counted(query.malformed, 'malformed row')} left out")
    if settings.footer:
        console.say(f"{counted(result.num_rows, 'row')}, {time.monotonic() - begin:.1f} s")


def _write(columns: list[tuple[str, str]], zone: str, result: pa.Table, settings: Settings, console: Console) -> None:
    form = renderer(settings.format, columns, zone, result)
    console.rows(form.header)
    for batch in result.to_batches(max_chunksize=10_000):
        console.rows(form.rows(pa.Table.from_batches([batch])))
