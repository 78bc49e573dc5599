"""Execute the statements of a text one after the other."""

import threading
from collections.abc import Callable, Iterator

import pyarrow as pa

from cepsql.engine import Engine
from cepsql.errors import Error
from cepsql.frontends.runner.bounded import CUT, write_bounded
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.counted import counted
from cepsql.frontends.runner.error_report import anchored
from cepsql.frontends.runner.follow import follow
from cepsql.frontends.runner.live_rows import view
from cepsql.frontends.runner.logged_notices import noticed
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.waiting_for_spark import start_spark
from cepsql.frontends.runner.working import working
from cepsql.frontends.runner.wrapped import wrapped
from cepsql.language.parse import split
from cepsql.query import Query
from cepsql.render import renderer
from cepsql.render.answer import Answer


def execute(
    engine: Engine,
    text: str,
    settings: UserChoices,
    console: Console,
    stop: threading.Event,
    may_drop: Callable[[str], bool] | None = None,
    shown: Callable[[str], None] | None = None,
) -> None:
    """Execute the statements of a text in order and write their results; return early once `stop` is set.

    may_drop: asked before a statement drops what cannot be had again, which it is told; if it says no, execution ends.
              None: nobody is asked.
    shown:    told each query whose rows were written.
    Raises Error, its position in `text`, at the first statement that fails.
    """
    with noticed(console):
        for offset, statement in split(text):
            try:
                if may_drop is not None and (loss := engine.loss(statement)) is not None and not may_drop(loss):
                    console.say("not dropped")
                    return
                if (followed := engine.subscription(statement)) is not None:
                    follow(followed, engine.zone_name() or "UTC", settings, console, stop)
                    continue
                items = engine.execute(statement, dict(settings.args))
                while (item := _next(items, engine, console)) is not None:
                    if _show(engine, item, settings, console, stop) and shown is not None:
                        shown(statement)
            except Error as error:
                raise anchored(error, text, offset, statement) from error
            if stop.is_set() or console.closed.is_set():
                return


def _next(items: Iterator[Query | Answer], engine: Engine, console: Console) -> Query | Answer | None:
    with working(console, lambda: "working" if engine.has_started else "waiting for Spark"):
        return next(items, None)


def _show(engine: Engine, item: Query | Answer, settings: UserChoices, console: Console, stop: threading.Event) -> bool:
    """Write what a statement gave; tell whether it was rows of a query."""
    if isinstance(item, Answer):
        for notice in item.notices:
            console.say(f"notice: {notice}")
        _answer(item, settings, console)
        return False
    for notice in (*item.notices, *(engine.notices(item) if settings.footer else ())):
        console.say(f"notice: {notice}")
    zone = engine.zone_name() if item.reading is not None else None
    if zone is None:
        with working(console, lambda: "waiting for Spark"):
            start_spark(engine, stop)
        if stop.is_set():
            console.echoed()
            console.say("stopped before it started")
            return False
        zone = engine.spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    (view if item.streaming else write_bounded)(item, zone, settings, console, stop)
    return True


def _answer(answer: Answer, settings: UserChoices, console: Console) -> None:
    if answer.layout != "table" and settings.format in ("table", "vertical"):
        width = console.columns if answer.layout == "wrapped" else None
        console.rows(wrapped(str(line), width) for (line,) in answer.rows)
    elif answer.columns:
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


def _write(
    columns: list[tuple[str, str]], zone: str, result: pa.Table, settings: UserChoices, console: Console
) -> None:
    form = renderer(settings.format, columns, zone, result, console.columns)
    console.rows(form.header)
    console.rows(form.rows(result))
    if form.cuts.number:
        console.say(CUT.format(counted(form.cuts.number, "value")))
