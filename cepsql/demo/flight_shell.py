"""The shell with the demo's flights as a stream, and questions to try."""

import sys
from typing import Any

from prompt_toolkit.history import InMemoryHistory

from cepsql.configuration import choose, spark_conf
from cepsql.demo.colour import print_sql
from cepsql.demo.replay import FlightReplay
from cepsql.demo.scenes import GROWING_DELAY
from cepsql.engine import Engine, connect
from cepsql.errors import InterfaceError
from cepsql.runner.console import Console
from cepsql.runner.settings import Settings
from cepsql.shell.opening import OpeningEngine
from cepsql.shell.shell import run

QUESTIONS = (
    (
        "Who left more than ten hours late? Ctrl-C ends a stream.",
        "SELECT tailnum, origin, dest, departed, delay FROM flights WHERE delay > 600;",
    ),
    (
        "Which aircraft left with a growing delay three times in a row? \\drain stops at the last file.",
        f"\\drain {GROWING_DELAY.query};",
    ),
    (
        f"Why is {GROWING_DELAY.explained} not among them?",
        f"EXPLAIN MATCH {GROWING_DELAY.query}\nFOR KEY ('{GROWING_DELAY.explained}');",
    ),
)
"""Each with the statement that answers it."""


def open_shell(replay: FlightReplay) -> int:
    """Open the shell over the replay, with the questions in its history; return the exit code.

    Raises InterfaceError where there is no terminal to type at.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise InterfaceError("--shell needs a terminal", hint="cepsql demo --data FOLDER writes the flights as files")
    values: dict[str, Any] = {name: chosen.value for name, chosen in choose({}).items()}

    def make() -> Engine:
        conf = {"spark.sql.shuffle.partitions": "2", **spark_conf()}
        engine = connect(master=values["master"], conf=conf, ansi=values["ansi"], catalog="")
        engine.sql(GROWING_DELAY.statements(replay.folder)[0])
        return engine

    print(
        f"The stream flights has {replay.rows:,} departures from New York. Questions to try (the up arrow has them):\n"
    )
    for question, statement in QUESTIONS:
        print(f"-- {question}")
        print_sql(statement, "")
        print()
    # The up arrow begins with the last one.
    history = InMemoryHistory([statement for _, statement in reversed(QUESTIONS)])
    settings = Settings(format=str(values["format"]), max_rows=values["max_rows"])
    opening = OpeningEngine(make)
    try:
        return run(opening, settings, Console(sys.stdout, sys.stderr), values=values, history=history)
    finally:
        opening.close()
