"""A terminal that can do nothing but show text: no control sequence reaches it, and everything still works."""

import sys
from pathlib import Path

from terminal import Terminal

FAKED = [sys.executable, str(Path(__file__).parent / "faked_command.py")]
CTRL_C, CTRL_D = "\x03", "\x04"


def test_a_session_on_a_dumb_terminal(tmp_path):
    # The pager would ask such a terminal for what it cannot do.
    settings = {"TERM": "dumb", "PAGER": "less", "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with Terminal(FAKED, rows=20, env=settings) as shell:
        at_prompt(shell, "cepsql 0.1.0 .*\n(?s:.*)")
        shell.type("create;\r")
        at_prompt(shell, "stream s created\n")
        shell.type("half a statement")
        shell.expect("half a statement")
        shell.type(CTRL_C)
        at_prompt(shell)
        shell.type("one;\r")
        at_prompt(shell, r" n\n-+\n 1\n1 row, .* s\n")
        shell.type("wrong\r;\r")
        at_prompt(shell, r"wrong\n;\nerror: no wrong\n")
        shell.type("many;\r")
        at_prompt(shell, r" 499\n500 rows, .* s\n")
        shell.type("endless;\r")
        shell.expect(r" 30\n")
        shell.type(CTRL_C)
        at_prompt(shell, r"stopped: \d+ rows, \d+ batches, \d+ s\n(?s:.*)query fraud keeps running\n")
        shell.type("one;\r")
        at_prompt(shell, "1 row, .* s\n")
        shell.type("\\watch 0.1\r")
        shell.expect(r"(?s)again in 0.1 s; Ctrl-C ends it.*again in 0.1 s")
        shell.type(CTRL_C)
        at_prompt(shell)
        shell.type("DROP QUERY fraud;\r")
        shell.expect(r"drop QUERY fraud\? \[y/N\] ")
        shell.expect_keys()
        shell.type("n\r")
        at_prompt(shell, "not dropped\n")
        shell.type(CTRL_D)
        shell.expect(r"query fraud runs in this shell and ends with it. Leave\? \[y/N\] ")
        shell.expect_keys()
        shell.type("n\r")
        at_prompt(shell)
        shell.type(CTRL_D)
        shell.expect("Leave")
        shell.expect_keys()
        shell.type(CTRL_D)
        assert shell.process.wait(30) == 0
        assert b"\x1b" not in shell.written


def at_prompt(shell: Terminal, before: str = "") -> None:
    shell.expect(f"{before}cepsql> ")
    shell.expect_keys()
