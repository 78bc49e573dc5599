"""`cepsql init`, `check` and `test`: a project from its beginning to a test that fails."""

import subprocess
import sys
from pathlib import Path

import pytest

import cepsql.engine
from cepsql.cli import main
from cepsql.engine import connect


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mine"]) == 0
    assert "cepsql test rising.test" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def test_a_project_passes_its_check_without_spark(project):
    code = (
        "import sys; from cepsql.cli import main; code = main(['check', 'streams.sql', 'rising.sql']);"
        "sys.exit(code or 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "2 statements checked: no errors\n")


def test_files_that_are_there_stay(project, capsys):
    with pytest.raises(SystemExit):
        # argparse reports it as wrong usage.
        sys.exit(main(["init", "."]))
    assert "rising.sql, rising.test, streams.sql exists already" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["init", str(tmp_path / "file")]) == 2
    assert f"error: {tmp_path}/file cannot be made: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">&-", 2, "standard output is closed"),
        ("> /dev/full", 1, "the rows cannot be written: No space left on device"),
    ],
)
def test_output_that_cannot_be_written(redirected, code, said):
    if "full" in redirected and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    command = f"{sys.executable} -m cepsql -c 'SHOW STREAMS' {redirected}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"error: {said}")


def test_rows_come_where_standard_error_is_closed():
    command = f"{sys.executable} -m cepsql --format csv -c 'SHOW STREAMS' 2>&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "name,format,columns\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["config", "--version"])
def test_output_of_other_kinds_that_cannot_be_written(command, unbuffered):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    ours = f"PYTHONUNBUFFERED={unbuffered} {sys.executable} -m cepsql {command}"
    done = subprocess.run(["bash", "-c", f"{ours} > /dev/full"], capture_output=True, text=True)
    said = "error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)
    unread = f"{ours} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", unread], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("-c 'SHOW STREAMS' <&-", 0, ""),
        ("<&-", 2, "error: standard input is closed"),
        ("check - <&-", 2, "error: standard input is closed"),
    ],
)
def test_input_that_is_closed(command, code, said):
    command = f"{sys.executable} -m cepsql {command}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.startswith(said) and "Traceback" not in done.stderr


def test_check_gives_all_errors_with_their_places(project, capsys):
    (project / "bad.sql").write_text(
        "SELECT prise FROM trades;\nCREATE VIEW v AS SELECT price FROM trades;\n\nSELECT price FROM v WHERE;\n"
        "SELECT nothing FROM v;\nSELECT COUNT(*) FROM trades;\n"
        "SET spark.sql.shuffle.partitions = 3; EXPLAIN PHYSICAL SELECT x FROM w;"
    )
    assert main(["check", "streams.sql", "bad.sql"]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    endless = "an aggregate over a stream needs a window of event time: without one no group is ever complete"
    assert said == [
        "error: bad.sql:1: there is no column prise",
        "error: bad.sql:4: syntax error: something is missing after WHERE",
        "error: bad.sql:5: there is no column nothing",
        f"error: bad.sql:6: {endless}",
        "error: bad.sql:7: there is no stream, table or view w",
    ]


def test_check_names_the_later_script_that_defines_a_name(project, capsys):
    assert main(["check", "rising.sql", "streams.sql"]) == 1
    said = capsys.readouterr().err
    assert "rising.sql:2: there is no stream, table or view trades" in said
    assert "hint: streams.sql defines it: name that file before rising.sql" in said


def test_check_knows_what_is_defined_and_starts_nothing(project, capsys):
    (project / "more.sql").write_text(
        "CREATE SINK found USING console;\nCREATE QUERY dear INTO found AS SELECT price FROM trades WHERE price > 9;\n"
        "START QUERY dear;\nSTOP QUERY cheap;\nCREATE QUERY odd INTO found AS SELECT prise FROM trades;"
    )
    assert main(["check", "streams.sql", "more.sql"]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert [line.split(":")[2] for line in said] == ["4", "5"]


@pytest.mark.parametrize(
    ("query", "complete"),
    [
        ("SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol", False),
        ("SELECT s, MAX(price) AS m FROM (SELECT upper(symbol) AS s, price FROM trades) GROUP BY 1", False),
        ("SELECT DISTINCT symbol FROM trades", False),
        ("SELECT symbol, at, COUNT(*) AS n FROM trades GROUP BY symbol, at", True),
        ("SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol, window(at, '1 hour')", True),
        ("SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol EMIT CHANGES", True),
        ("SELECT DISTINCT symbol, at FROM trades", True),
    ],
)
def test_groups_that_are_never_complete_are_told_before_anything_runs(project, capsys, query, complete):
    (project / "groups.sql").write_text(f"{query};\nCREATE QUERY q AS {query};")
    assert main(["check", "streams.sql", "groups.sql"]) == (not complete)
    assert capsys.readouterr().err.count("over a stream needs") == (0 if complete else 2)


def test_what_only_spark_can_check_is_no_error(project, capsys):
    (project / "files.sql").write_text(
        "CREATE STREAM o USING csv OPTIONS (path 'in');\nCREATE VIEW v AS SELECT a FROM o;\nSELECT b FROM v;\n"
        "SELECT * FROM 'x.csv';\nSELECT prise FROM trades;"
    )
    assert main(["check", "streams.sql", "files.sql"]) == 1
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if line.startswith("error")] == [
        "error: files.sql:5: there is no column prise"
    ]
    assert said.endswith(
        "statements checked: 1 error; 4 not checked, because only Spark knows the columns of their files\n"
    )


def test_a_line_of_a_view_is_not_taken_for_one_of_the_script(project, capsys):
    (project / "odd.sql").write_text(
        "CREATE VIEW dear AS\nSELECT price FROM trades;\nCREATE OR REPLACE STREAM trades (symbol STRING) USING csv\n"
        "OPTIONS (path 'x');\nSELECT * FROM dear;"
    )
    assert main(["check", "streams.sql", "odd.sql"]) == 1
    assert capsys.readouterr().err.startswith("error: odd.sql: in view dear: there is no column price\n  line 1:")


def test_tests_hold_or_say_what_differs(project, capsys, monkeypatch, spark):
    monkeypatch.setattr(cepsql.engine, "connect", lambda session=None, **_: connect(session or spark))
    text = (project / "rising.test").read_text()
    (project / "rising.test").write_text(text.replace("ACME|1.0|2.5", "ACME|1.0|3.5"))
    assert main(["test", "."]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "FAILED rising.test",
        "  batch 2: - expected, + came",
        "    - ACME|1.0|3.5|10:00:30",
        "    + ACME|1.0|2.5|10:00:30",
        "  batch 2 with restarts: - expected, + came",
        "    - ACME|1.0|3.5|10:00:30",
        "    + ACME|1.0|2.5|10:00:30",
    ]
    assert captured.err == "0 of 1 passed\n"
    assert main(["test", "--update", "rising.test"]) == 0
    assert (project / "rising.test").read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1;\n", "has neither a line batch nor a line end"),
        ("SELECT 1;\nbatch\n1\n----\n", "a.test has no line end"),
        ("SELECT 1;\nbatch\n1\nend\n----\n", "---- is missing before the line end of"),
        ("SELECT 1;\nend\n----\nbatch\n1\n----\nend\n", "must have its batches and heartbeats, then end"),
        ("\\i nothing.sql\nend\n----\n", "nothing.sql cannot be read: No such file"),
        ("SELECT 1;\nend\n----\n", "last statement is a query over a stream"),
    ],
)
def test_a_file_that_is_no_test(tmp_path, capsys, monkeypatch, spark, text, said):
    monkeypatch.setattr(cepsql.engine, "connect", lambda session=None, **_: connect(session or spark))
    (tmp_path / "a.test").write_text(text)
    assert main(["test", str(tmp_path / "a.test")]) == 1
    assert said in capsys.readouterr().out
