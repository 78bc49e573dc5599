"""Each example query gives the rows that its header shows; `pytest --update` writes them anew."""

import re
from pathlib import Path

import pytest

from cepsql.engine import connect
from cepsql.render import renderer

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("queries/*.sql"), *ROOT.glob("cepsql/frontends/demo/*.sql")])
OUTPUT = re.compile(r"--\n-- Output[^\n]*:\n(--   [^\n]*\n)*")
SHOWN = 6


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_header_shows_the_output(file, spark, update):
    text = file.read_text("utf-8")
    header = output(connect(spark), text)
    if update:
        body = OUTPUT.sub("", text, count=1)
        comment, statements = body.split("\n\n", 1)
        file.write_text(f"{comment}\n{header}\n{statements}", "utf-8")
    else:
        match = OUTPUT.search(text)
        assert match, f"{file.name} shows no output; pytest --update writes it"
        assert match[0] == header


def output(engine, text: str) -> str:
    """Run a script; write its rows, in order of their text, as the header comment shows them."""
    query = engine.sql(text)
    tables = []
    if query.streaming:
        standing = query.start(lambda rows, _: tables.append(rows), drain=True)
        assert standing.await_(120)
    else:
        tables.append(query.arrow())
    form = renderer("csv", query.columns, engine.spark.conf.get("spark.sql.session.timeZone"))
    lines = sorted(line for table in tables for line in form.rows(table))
    note = f" (first {SHOWN} of {len(lines)} rows)" if len(lines) > SHOWN else ""
    shown = [*form.header, *lines[:SHOWN]]
    return f"--\n-- Output{note}:\n" + "".join(f"--   {line}\n" for line in shown)
