"""Keys of the editor: grey suggestions, those of Emacs, those of vi where the configuration asks for them."""

import pytest
from fake_engine import FakeEngine, message
from prompt_toolkit.application import Application
from prompt_toolkit.history import InMemoryHistory
from typed import type_in_turn, type_to

from cepsql.frontends.configuration import choose
from cepsql.frontends.shell.prompt import file_history

ENTER, ESC, CTRL_C, CTRL_D, RIGHT, UP = "\r", "\x1b", "\x03", "\x04", "\x1b[C", "\x1b[A"
CTRL_A, CTRL_E, CTRL_F, CTRL_K, CTRL_R, CTRL_U, CTRL_W, CTRL_Y = (
    "\x01",
    "\x05",
    "\x06",
    "\x0b",
    "\x12",
    "\x15",
    "\x17",
    "\x19",
)
ALT_B, ALT_D = f"{ESC}b", f"{ESC}d"


class Said(dict):
    """Every statement is answered."""

    def __missing__(self, text):
        return message("done")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CEPSQL_EDITING_MODE", raising=False)
    return tmp_path


def executed(keys: str, *before: str) -> list[str]:
    engine = FakeEngine(Said())
    type_to(engine, keys + CTRL_D, InMemoryHistory(before))
    return engine.seen


def test_ctrl_z_lets_the_shell_rest(monkeypatch):
    rested = []
    monkeypatch.setattr(Application, "suspend_to_background", lambda *_: rested.append(True))
    assert executed(f"SELECT\x1a a;{ENTER}") == ["SELECT a"]
    assert rested


@pytest.mark.parametrize(
    ("begun", "grey"),
    [("SELECT a", " FROM t;"), ("S", "HOW STREAMS;"), (f"SELECT c,{ENTER}  b", " FROM u;")],
)
@pytest.mark.parametrize("key", [RIGHT, CTRL_E, CTRL_F])
def test_the_grey_suggestion_is_taken(begun, grey, key):
    history = file_history()
    for earlier in ("SELECT a FROM t;", "SELECT d,\n  b FROM u;", "SHOW STREAMS;"):
        history.append_string(earlier)
    engine = FakeEngine(Said())
    typed = [begun, lambda buffer: buffer.suggestion is not None and buffer.suggestion.text == grey, key, ENTER, CTRL_D]
    type_in_turn(engine, typed, {})
    assert engine.seen == [f"{begun}{grey}".replace(ENTER, "\n").rstrip(";")]


def test_the_grey_suggestion_may_be_left():
    history = file_history()
    history.append_string("SELECT a FROM t;")
    engine = FakeEngine(Said())
    typed = ["SELECT a", lambda buffer: buffer.suggestion is not None, f";{ENTER}", CTRL_D]
    type_in_turn(engine, typed, {})
    assert engine.seen == ["SELECT a"]


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        (f"1;{CTRL_A}select {ENTER}", ["select 1"]),
        (f"select 1 from t;{CTRL_A}{CTRL_F * 8}{CTRL_K};{ENTER}", ["select 1"]),
        (f"garbage{CTRL_U}select 1;{ENTER}", ["select 1"]),
        (f"select a.b{CTRL_W}c;{ENTER}", ["select c"]),
        (f"select 12;{ALT_B * 2}{ALT_D}3{ENTER}", ["select 3"]),
        (f"1;select {CTRL_A}{CTRL_F * 2}{CTRL_K}{CTRL_A}{CTRL_Y}{ENTER}", ["select 1"]),
        (f"{CTRL_R}from{ENTER}{ENTER}", ["select b from t"]),
        (f"{CTRL_R}select{CTRL_R}{ENTER}{ENTER}", ["select a from t"]),
        (f"{CTRL_R}nothing{CTRL_C}select 1;{ENTER}", ["select 1"]),
        (f"{UP}{CTRL_E}{CTRL_A}{ENTER}", ["select b from t"]),
    ],
)
def test_the_keys_of_emacs(keys, seen):
    assert executed(keys, "select a from t;", "select b from t;") == seen


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        (f"select 2;{ESC}hr1{ENTER}", ["select 1"]),
        (f"garbage{ESC}ddiselect 1;{ENTER}", ["select 1"]),
        (f"select a b;{ESC}0wdw{ENTER}", ["select b"]),
        (f"1;{ESC}Iselect {ENTER}", ["select 1"]),
        (f"select 1{ESC}cw2;{ENTER}", ["select 2"]),
        (f"select{ENTER}garbage{ESC}ddo1;{ENTER}", ["select\n1"]),
        (f"select 1;{ESC}yypkddA{ENTER}", ["select 1"]),
    ],
)
def test_the_keys_of_vi_where_the_configuration_asks_for_them(home, keys, seen):
    (home / "config" / "cepsql").mkdir(parents=True)
    (home / "config" / "cepsql" / "config.toml").write_text("editing_mode = 'vi'\n")
    engine = FakeEngine(Said())
    values = {name: chosen.value for name, chosen in choose({}).items()}
    type_in_turn(engine, [keys, CTRL_D], values)
    assert engine.seen == seen
