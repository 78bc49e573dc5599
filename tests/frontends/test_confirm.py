"""The shell asks before it drops what cannot be had again; nothing else does."""

import sys

import pytest
from fake_engine import FakeEngine, message
from prompt_toolkit.history import InMemoryHistory
from typed import type_to

import cepsql.engine
from cepsql.cli import main
from cepsql.engine import connect
from cepsql.frontends.configuration import choose

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"
DROP = "DROP QUERY q"
"""The engine without Spark says of it that query q is lost."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "cepsql").mkdir()
    return tmp_path / "cepsql"


def fake() -> FakeEngine:
    return FakeEngine({DROP: message("dropped"), "r": message("done")})


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        (f"{DROP};{ENTER}y{ENTER}", [DROP]),
        (f"{DROP};{ENTER}YES {ENTER}r;{ENTER}", [DROP, "r"]),
        (f"{DROP};{ENTER}n{ENTER}r;{ENTER}", ["r"]),
        (f"{DROP};{ENTER}{ENTER}r;{ENTER}", ["r"]),
        (f"{DROP};{ENTER}y{CTRL_C}r;{ENTER}", ["r"]),
        (f"{DROP};{ENTER}{CTRL_D}r;{ENTER}", ["r"]),
        (f"r; {DROP}; r;{ENTER}y{ENTER}", ["r", DROP, "r"]),
        (f"r; {DROP}; r;{ENTER}n{ENTER}", ["r"]),
        (f"{DROP}; {DROP};{ENTER}y{ENTER}y{ENTER}", [DROP, DROP]),
        (f"{DROP}; {DROP};{ENTER}y{ENTER}n{ENTER}", [DROP]),
    ],
)
def test_the_shell_asks_before_it_drops(keys, seen):
    engine = fake()
    code, _, err = type_to(engine, keys + CTRL_D, InMemoryHistory())
    assert (code, engine.seen) == (0, seen)
    assert ("not dropped" in err) == (seen.count(DROP) < keys.count(DROP))


def test_a_setting_turns_it_off(home):
    (home / "config.toml").write_text("confirm = false\n")
    engine = fake()
    values = {name: chosen.value for name, chosen in choose({}).items()}
    type_to(engine, f"{DROP};{ENTER}r;{ENTER}{CTRL_D}", InMemoryHistory(), values)
    assert engine.seen == [DROP, "r"]


def test_files_are_not_asked_about(home, tmp_path):
    (home / "init.sql").write_text(f"{DROP};")
    (tmp_path / "drop.sql").write_text(f"{DROP}; r;")
    engine = fake()
    type_to(engine, f"\\i {tmp_path / 'drop.sql'}{ENTER}{CTRL_D}", InMemoryHistory())
    assert engine.seen == [DROP, DROP, "r"]


def test_scripts_are_not_asked_about(tmp_path, monkeypatch):
    (tmp_path / "drop.sql").write_text(f"{DROP};")
    engine = fake()
    monkeypatch.setattr(cepsql.engine, "connect", lambda **_: engine)
    for argv in (["-c", DROP], ["-f", str(tmp_path / "drop.sql")]):
        assert main(argv) == 0
    with (tmp_path / "drop.sql").open() as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        assert main([]) == 0
    assert engine.seen == [DROP] * 3


def test_what_goes_is_said(capsys, monkeypatch):
    engine = connect(catalog="")
    monkeypatch.setattr(type(engine), "warm", None)
    defined = "CREATE STREAM s (a INT) USING json OPTIONS (path '/tmp/none'); CREATE VIEW v AS SELECT a FROM s;"
    monkeypatch.setenv("TERM", "dumb")
    keys = f"{defined}{ENTER}DROP STREAM s;{ENTER}DROP STREAM s CASCADE;{ENTER}n{ENTER}SHOW VIEWS;{ENTER}"
    _, out, err = type_to(engine, f"{keys}DROP STREAM s CASCADE;{ENTER}y{ENTER}{CTRL_D}", InMemoryHistory())
    asked = "drop stream s, and with it view v? [y/N] "
    assert capsys.readouterr().out == f"{asked}n\r\n{asked}y\r\n"
    assert "v,view,select a from s" in out.lower()
    said = err.splitlines()[1:]
    assert [line for line in said if "drop" in line] == [
        "  hint: DROP STREAM s CASCADE drops all",
        "not dropped",
        "stream s dropped, and with it view v",
    ]
