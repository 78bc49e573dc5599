"""The shell over the demo's flights, in a real terminal."""

import re
import sys

import pytest
from terminal import Terminal

from cepsql.frontends.demo.flight_shell import QUESTIONS


@pytest.mark.nightly("it starts Spark once more")
def test_the_shell_answers_the_questions_that_it_asks(tmp_path):
    environment = {"XDG_STATE_HOME": str(tmp_path), "CEPSQL_CONFIG": str(tmp_path / "none")}
    with Terminal([sys.executable, "-m", "cepsql", "demo", "--quick", "--shell"], rows=60, env=environment) as shell:
        shell.expect("The stream flights has 10,000 departures")
        for question, statement in QUESTIONS:
            shell.expect(re.escape(question))
            shell.expect(re.escape(statement))
        shell.expect("cepsql>")
        shell.expect_keys()
        shell.type(f"{QUESTIONS[1][1]}\r")
        shell.expect(r"tailnum +\| carrier")
        shell.expect("N13958")
        shell.expect("ended: 4 rows")
        shell.type(f"{QUESTIONS[2][1]}\r")
        shell.expect("matches: none")
        shell.expect("best attempt: 2 rows taken")
        shell.type("\\q\r")
        assert shell.process.wait(60) == 0
