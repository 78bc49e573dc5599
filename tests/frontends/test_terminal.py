"""The shell in a real terminal, with a real engine: what is stopped, what goes on, and what the user is told."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from chance import is_night
from terminal import Terminal

SHELL = [sys.executable, "-m", "cepsql", "--master", "local[2]"]
CTRL_C, CTRL_D = "\x03", "\x04"
BEATS = (
    "CREATE STREAM beats (value BIGINT, timestamp TIMESTAMP, WATERMARK FOR timestamp AS timestamp) "
    "USING rate OPTIONS ('rowsPerSecond' = '10');"
)
ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE hash(id) = id % 7;"


def test_a_session(tmp_path):
    """One session for all, for its start is what takes long; what waits for seconds is done by night."""
    with Terminal(
        SHELL, env={"XDG_STATE_HOME": str(tmp_path / "state"), "CEPSQL_CONFIG": str(tmp_path / "none")}
    ) as shell:
        shell.expect("cepsql>")
        bounded_queries_are_stopped(shell)
        a_query_in_the_background_fails(shell, tmp_path / "bad")
        a_statement_is_executed_again_and_again(shell)
        millions_of_rows_are_cut_and_can_be_stopped(shell)
        a_stream_is_stopped(shell)
        many_lines_are_pasted(shell)
        the_screen_becomes_narrow(shell)
        if is_night():
            ten_thousand_rows_a_second_leave_the_prompt_whole(shell)
            a_silent_stream_says_why(shell, tmp_path / "in")
            java_dies_and_starts_again(shell)
        say(shell, "exit")
        assert shell.process.wait(60) == 0


def say(shell, text: str) -> None:
    shell.type(f"{text}\r")


def bounded_queries_are_stopped(shell) -> None:
    # Spark has not started yet.
    say(shell, ENDLESS)
    shell.expect("waiting for Spark")
    shell.type(CTRL_C)
    shell.expect(r"stopped")
    shell.expect("cepsql>")
    say(shell, "SELECT 41 + 1 AS answer;")
    shell.expect(r" answer\s+-+\s+42")
    say(shell, ENDLESS)
    time.sleep(3)
    shell.type(CTRL_C)
    shell.expect(r"stopped: 0 rows, \d+ s")
    shell.expect("cepsql>")


def a_statement_is_executed_again_and_again(shell) -> None:
    say(shell, "SELECT 6 * 7 AS watched;")
    say(shell, "\\watch 0.5")
    for _ in range(3):
        shell.expect(r" watched\s+-+\s+42\s")
    shell.expect("again in 0.5 s")
    shell.type(CTRL_C)
    shell.expect("cepsql>")


def millions_of_rows_are_cut_and_can_be_stopped(shell) -> None:
    say(shell, "SELECT id FROM range(1000000000);")
    # The pager shows the first page; Ctrl-C is the pager's, which for a moment forgets what is typed.
    shell.expect(r"(?s) 20\s+21\s.*:")
    shell.type(CTRL_C)
    while "the first 1000 rows" not in shell.shown:
        shell.type("q")
        time.sleep(0.5)
    shell.expect(r"the first 1000 rows; \\maxrows N shows more")
    shell.type(CTRL_C)
    say(shell, "\\maxrows all")
    say(shell, "SELECT id FROM range(1000000000);")
    shell.expect(r" 20000\s")
    shell.type(CTRL_C)
    shell.expect(r"stopped: \d+ rows, \d+ s")
    say(shell, "\\maxrows 10")
    shell.expect("at most 10 rows")


def a_stream_is_stopped(shell) -> None:
    say(shell, BEATS)
    shell.expect("stream beats created")
    say(shell, "SELECT value FROM beats;")
    shell.expect("notice: beats is read from now on\n")
    shell.expect(r"value\s+-+\s+\d+\s+\d+\s")
    shell.type(CTRL_C)
    shell.expect(r"stopped: \d+ rows, \d+ batch(es)?, \d+ s")
    shell.expect("cepsql>")


def many_lines_are_pasted(shell) -> None:
    lines = "\n".join(f"  {number} AS column_{number}," for number in range(500))
    shell.type(f"\x1b[200~SELECT count(*) AS pasted FROM (SELECT\n{lines}\n  1 AS last);\x1b[201~\r")
    shell.expect(r" pasted\s+-+\s+1\s+1 row, ")


def the_screen_becomes_narrow(shell) -> None:
    say(shell, "SELECT 1 AS one, repeat('x', 300) AS long;")
    shell.expect(r"one \| long\s+-+\+-+\s+1 \| x{90,}…\s+1 value cut to the screen")
    shell.resize(20, 40)
    say(shell, "SELECT 1 AS one, repeat('x', 300) AS long, repeat('y', 30) AS more, 'z' AS last_of_all;")
    shell.expect(r"one +\| 1\s+long +\| x{20,28}\n")
    shell.resize(40, 120)


def ten_thousand_rows_a_second_leave_the_prompt_whole(shell) -> None:
    say(shell, BEATS.replace("STREAM beats", "STREAM flood").replace("'10'", "'10000'"))
    say(shell, "SELECT value FROM flood;")
    shell.expect(r"\s20000\n")
    shell.type(CTRL_C)
    shell.expect(r"stopped: \d+ rows")
    shell.type("SELECT 40 + 2\tAS answer\t")
    say(shell, ";")
    shell.expect(r" answer\s+-+\s+42\s+1 row")


def a_query_in_the_background_fails(shell, folder: Path) -> None:
    folder.mkdir()
    say(shell, f"CREATE STREAM bad (n INT) USING json OPTIONS (path '{folder}');")
    say(shell, "CREATE QUERY failing AS SELECT raise_error('the ' || n || 'th') AS x FROM bad;")
    say(shell, "START QUERY failing;")
    shell.expect("query failing runs in this process")
    shell.type("SELECT 'typed wh")
    (folder / "1.json").write_text('{"n": 50}')
    shell.expect(r"query failing failed: .*the 50th.*\\errverbose shows the rest")
    say(shell, "ile it failed' AS done;")
    shell.expect(r"done\s+-+\s+typed while it failed")
    say(shell, "STOP QUERY failing; DROP QUERY failing;")
    shell.expect(r"query failing stopped(?s:.*)drop query failing \(.*\)\? \[y/N\]")
    say(shell, "n")
    shell.expect("not dropped")
    say(shell, "DROP QUERY failing;")
    shell.expect(r"drop query failing \(.*\)\? \[y/N\]")
    say(shell, "y")
    shell.expect("query failing dropped")


def a_silent_stream_says_why(shell, folder: Path) -> None:
    folder.mkdir()
    say(shell, f"CREATE STREAM quiet (a INT, t TIMESTAMP) USING json OPTIONS (path '{folder}'); SELECT * FROM quiet;")
    shell.expect(r"(?s)no rows for 1[0-9] s: .*which\s+quiet\s+reads,\s+has\s+no\s+files\s+yet;\s+Ctrl-C\s+stops")
    shell.expect("s no rows · read 0")
    shell.type(CTRL_C)
    shell.expect("stopped: 0 rows")
    shell.expect("cepsql>")


def java_dies_and_starts_again(shell) -> None:
    os.kill(java_below(shell.process.pid), signal.SIGKILL)
    say(shell, "SELECT 1 AS one;")
    shell.expect(r"(?s)Java.*(one\s+-+\s+1|starts again)")
    say(shell, "SHOW STREAMS; SELECT 2 AS two;")
    shell.expect(r"(?s)beats.* two\s+-+\s+2")


def java_below(parent: int) -> int:
    """Return the process of Java that a process has started."""
    children = [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    table = [line.split(None, 2) for line in listed.splitlines()]
    below, pids = {parent, *children}, []
    for pid, ppid, name in table:
        if int(ppid) in below:
            below.add(int(pid))
            pids += [int(pid)] if name == "java" else []
    return pids[0]
