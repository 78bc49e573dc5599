"""The command: exit codes, where output goes, what is imported; against an engine without Spark, and twice with it."""

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_engine import FakeEngine, FakeQuery, message, numbers

import cepsql.engine
from cepsql.cli import main
from cepsql.errors import ProgrammingError, SessionError, Span
from cepsql.frontends.command_options import parser
from cepsql.language.parse import parse, split
from cepsql.language.tokens import Text

COMMAND = [sys.executable, "-c", "import sys; from cepsql.cli import main; sys.exit(main())"]
DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def raises(kind, *rest, **more):
    return lambda text: kind("it failed", *rest, text=text, **more)


PREPARED = {
    "good": message("done"),
    "rows": FakeQuery([("n", "bigint")], [numbers(1, 2)], streaming=False),
    "bad": raises(ProgrammingError, Span(0, 3), "a hint", detail="java.lang.Trace"),
    "no spark": raises(SessionError),
    "broken": lambda text: KeyError("k"),
}


@pytest.fixture
def fake(monkeypatch):
    """The engine that `main` connects to; how it was called is in `fake.called`."""
    engine = FakeEngine(PREPARED)

    def connect(**options):
        engine.called = options
        return engine

    monkeypatch.setattr(cepsql.engine, "connect", connect)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield engine
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("argv", "code", "out", "err"),
    [
        (["-c", "good; rows", "--format", "csv"], 0, "n\n1\n2\n", "done\n"),
        (["-c", "rows", "--format", "csv", "--limit", "1"], 0, "n\n1\n", ""),
        (["-c", "rows"], 0, " n\n---\n 1\n 2\n", ""),
        (["-c", "rows", "--format=json"], 0, '{"n":1}\n{"n":2}\n', ""),
        (["-c", "bad; good"], 1, "", "error: it failed\n  line 1: bad; good\n          ^^^\n  hint: a hint\n"),
        (["-c", "bad", "-c", "good"], 1, "", "error: it failed\n  line 1: bad\n          ^^^\n  hint: a hint\n"),
        (["-c", "no spark"], 3, "", "error: it failed\n"),
        (["-c", "good", "-c", ""], 0, "", "done\n"),
        (["-c", "'open"], 1, "", None),
    ],
)
def test_exit_codes_and_output(fake, capsys, argv, code, out, err):
    assert main(argv) == code
    written = capsys.readouterr()
    assert written.out == out
    assert err is None or written.err == err
    assert fake.closed


def test_a_defect_is_reported_as_one(fake, capsys):
    assert main(["-c", "broken"]) == 1
    assert capsys.readouterr().err.startswith("error: cepsql failed: KeyError: 'k'\n  hint: --errverbose")
    assert main(["-c", "broken", "--errverbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_technical_details_are_shown_on_request(fake, capsys):
    main(["-c", "bad"])
    assert "Trace" not in capsys.readouterr().err
    main(["-c", "bad", "--errverbose"])
    assert capsys.readouterr().err.endswith("  hint: a hint\n  docs/errors.md#programmingerror\njava.lang.Trace\n")


def test_errors_in_a_script_name_file_and_line(fake, capsys, tmp_path):
    script = tmp_path / "s.sql"
    script.write_text("good;\n\n  bad;\ngood")
    assert main(["-f", str(script)]) == 1
    assert (
        capsys.readouterr().err
        == f"done\nerror: {script}:3: it failed\n  line 3:   bad;\n            ^^^\n  hint: a hint\n"
    )


def test_scripts_are_executed_in_their_order(fake, tmp_path, capsys):
    script = tmp_path / "s.sql"
    script.write_text("rows;")
    assert main(["-c", "good", "-f", str(script), "-c", "good"]) == 0
    assert fake.seen == ["good", "rows", "good"]


def test_statements_on_standard_input(fake, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("good;\nbad"))
    assert main([]) == 1
    assert fake.seen == ["good", "bad"]
    assert "error: standard input:2: it failed" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_part_of_a_statement():
    assert [sql for _, sql in split("\ufeffSELECT 1; SELECT 2")] == ["SELECT 1", "SELECT 2"]


def test_text_that_is_no_utf_8(tmp_path, capsys):
    script = tmp_path / "latin.sql"
    script.write_bytes("SELECT 'café'".encode("latin-1"))
    assert main(["-f", str(script)]) == 2
    assert "latin.sql: it is not UTF-8" in capsys.readouterr().err
    with pytest.raises(ProgrammingError, match="the text is not UTF-8: it has the byte E9 here"):
        parse(Text(script.read_text("utf-8", "surrogateescape")))


def test_half_a_character():
    with pytest.raises(ProgrammingError, match=r"the text has \\ud800 here, which is half a character") as raised:
        parse(Text("SELECT '\ud800'"))
    assert "SELECT ' '" in str(raised.value)
    assert "\\udce9" in str(ProgrammingError("there is no caf\udce9"))


def test_what_moves_the_cursor_is_not_written_in_an_error():
    error = ProgrammingError("there is no column b", Span(9, 10), None, "SELECT\ra,\x1bb\r\nFROM t")
    assert str(error).splitlines()[1:] == ["  line 1: SELECT a, b", "                   ^"]


def test_options_reach_the_engine(fake):
    argv = ["-c", "good", "--master", "local[3]", "--conf", "a.b=c=d", "-v", "n=5", "-v", "x=-1.50", "-v", "s=a b=c"]
    assert main([*argv, "-v", "t=TRUE", "-v", "z=null", "-v", "e="]) == 0
    assert fake.called == {"master": "local[3]", "conf": {"a.b": "c=d"}, "ansi": None, "catalog": None}
    arguments = {name: repr(value) for name, value in fake.args[0].items()}
    assert arguments == {"n": "5", "x": "Decimal('-1.50')", "s": "'a b=c'", "t": "True", "z": "None", "e": "''"}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--limit", "-1"], "--limit"),
        (["-c", "SHOW STREAMS", "-o", "/no/such/place"], "/no/such/place cannot be written: No such file or directory"),
        (["--max-rows", "few"], "'few' is not a number of rows"),
        (["--limit", "ten"], "'ten' is not a number of rows"),
        (["--timeout", "soon"], "'soon' is not a number of seconds"),
        (["--format", "xml"], "invalid choice: 'xml'"),
        (["-v", "five"], "'five' is not NAME=VALUE"),
        (["--conf", "=x"], "'=x' is not KEY=VALUE"),
        (["-f", "/no/such.sql"], "cannot read /no/such.sql: No such file or directory"),
        (["--nonsense"], "unrecognized arguments: --nonsense\n"),
        (["one.sql"], "unrecognized arguments: one.sql\n  hint: cepsql -f one.sql executes a script"),
        (["--fromat", "csv"], "unrecognized arguments: --fromat csv\n  hint: did you mean --format?"),
        (["SELECT 1"], "unrecognized arguments: SELECT 1\n  hint: cepsql -c 'SELECT ...' executes statements"),
        (["serve", "--catlog", "c.db"], "unrecognized arguments: --catlog c.db\n  hint: did you mean --catalog?"),
        (["serve", "--catalog", "c.db", "--lease", "0"], "argument --lease: a lease lasts 1 second at least"),
        (["hlep"], "error: unrecognized arguments: hlep\n  hint: did you mean cepsql --help?\n"),
        (["chek", "one.sql"], "unrecognized arguments: chek one.sql\n  hint: did you mean cepsql check?"),
    ],
)
def test_wrong_usage(capsys, argv, said):
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert said in err and "usage:" not in err and len(err.splitlines()) <= 2


def test_the_documentation_shows_the_help(capsys):
    assert main(["--help"]) == 0
    shown = re.search(r"```text\n(usage:.*?)```", DOCS.read_text(), re.DOTALL)[1]
    assert capsys.readouterr().out == shown


def test_the_documentation_names_every_option():
    options = {name for action in parser()._actions for name in action.option_strings}
    assert {name for name in options if name not in DOCS.read_text()} == set()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option):
    heavy = ["pyspark", "pandas", "pyarrow", "numpy", "prompt_toolkit", "lark", "sqlglot"]
    code = (
        f"import sys; from cepsql.cli import main; main([{option!r}]); print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def test_a_reader_that_leaves_ends_the_script_quietly():
    command = [*COMMAND, "-c", "SHOW STREAMS; SHOW STREAMS"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdout.close()
    assert running.stderr.read() == ""
    assert running.wait() == 0


SCRIPT = """\
CREATE STREAM beats (value BIGINT, timestamp TIMESTAMP, WATERMARK FOR timestamp AS timestamp - INTERVAL '1' SECOND)
USING rate OPTIONS ('rowsPerSecond' = '10', 'numPartitions' = '1');
SELECT CAST(:day AS DATE) AS day, timestamp'2026-01-31 12:00:00.5' AS ts;
SELECT value FROM beats LIMIT 3;

SELECT price FROM beats;
"""


@pytest.mark.nightly("it starts Spark once more, as the installed command does")
def test_a_script_in_spark(tmp_path):
    script = tmp_path / "beats.sql"
    script.write_text(SCRIPT)
    options = ["--master", "local[2]", "--format", "csv", "-f", str(script), "-v", "day=2026-01-31"]
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=300)
    assert done.stdout == "day,ts\n2026-01-31,2026-01-31 12:00:00.5\nvalue\n0\n1\n2\n"
    lines = done.stderr.splitlines()
    assert lines[0] == "stream beats created"
    assert lines[1].startswith("limit reached: 3 rows, ")
    assert lines[2].startswith("read ")
    assert lines[3].startswith(f"error: {script}:6: ")
    assert done.returncode == 1


@pytest.mark.nightly("it starts Spark once more; in a terminal Ctrl-C is pressed every day")
def test_ctrl_c_in_spark():
    statements = SCRIPT.partition("SELECT")[0] + "SELECT value FROM beats;"
    options = ["--master", "local[2]", "--format", "json", "-c", statements]
    running = subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == '{"value":0}\n'
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130
    created, stopped, read = err.splitlines()
    assert created == "stream beats created"
    assert stopped.startswith("stopped: ")
    assert read.startswith("read ")
    assert all(line.startswith('{"value":') for line in out.splitlines())
