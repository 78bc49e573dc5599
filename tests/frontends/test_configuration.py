"""Settings: which of command line, environment and file counts, and what is said of wrong ones."""

import pytest

from cepsql.cli import main
from cepsql.errors import InterfaceError
from cepsql.frontends.configuration import SETTINGS, choose, spark_conf


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    path = tmp_path / "cepsql" / "config.toml"
    path.parent.mkdir()
    return path


def test_the_command_line_beats_the_environment_which_beats_the_file(file, monkeypatch):
    file.write_text("format = 'csv'\nmax_rows = 7\nansi = true\n[conf]\nspark.x = 1\n'spark.y.z' = true\n")
    monkeypatch.setenv("CEPSQL_MAX_ROWS", "all")
    chosen = choose({"format": "json"})
    assert (chosen["format"].value, chosen["format"].origin) == ("json", "command line")
    assert (chosen["max_rows"].value, chosen["max_rows"].origin) == (None, "CEPSQL_MAX_ROWS")
    assert (chosen["ansi"].value, chosen["ansi"].origin) == (True, str(file))
    assert (chosen["history"].value, chosen["history"].origin) == (True, "default")
    assert spark_conf() == {"spark.x": "1", "spark.y.z": "true"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("formt = 'csv'", "has the setting formt, which there is not\n  hint: did you mean format?"),
        ("format = 'xml'", "is 'xml': it must be table, vertical, csv, json or markdown"),
        ("catalog = 5", "is 5: it must be a text in quotes"),
        ("format = ['csv']", "it must be a single value"),
        ("history = 1", "is '1': it must be true or false"),
        ("format = ", "cannot be read: Invalid value"),
    ],
)
def test_a_wrong_file_is_refused(file, capsys, text, said):
    file.write_text(text)
    with pytest.raises(InterfaceError) as raised:
        choose({})
    assert said in str(raised.value)
    assert main(["-c", "SHOW STREAMS"]) == 2
    assert said in capsys.readouterr().err


def test_config_shows_values_and_origins_and_no_secret(file, capsys):
    catalog = "postgresql://me:hush@db/x?password=hush"
    file.write_text(f"master = 'local[3]'\ncatalog = '{catalog}'\n[conf]\n'spark.hadoop.fs.s3a.secret.key' = 'hush'\n")
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:3] for line in out.splitlines()}
    assert lines["master"] == ["local[3]", str(file)]
    assert lines["format"] == ["table", "default"]
    assert lines["catalog"][0] == "postgresql://me:***@db/x?password=***"
    assert lines["confirm"] == ["true", "default"]
    assert "hush" not in out


def test_every_setting_is_documented():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    assert [setting.name for setting in SETTINGS if f"`{setting.name}`" not in page] == []
