"""The file of the parser's tables, a pickle, is read only if nobody else can have written it."""

import os
import pickle
from pathlib import Path

import pytest
from chance import everyday

from cepsql.language import parse


class Harmful:
    """What makes a file when it is read from a pickle."""

    def __init__(self, made: Path):
        self.made = made

    def __reduce__(self):
        return os.mkdir, (str(self.made),)


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parse._lark.cache_clear()
    yield parse._tables_file(parse.grammar_text("cepsql.lark"))
    parse._lark.cache_clear()


def test_they_are_kept_for_this_user_alone(file):
    made = parse._lark()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    parse._lark.cache_clear()
    loaded = parse._lark()
    assert loaded is not made and loaded.source_path == "<deserialized>"


def written_by_others(file: Path) -> None:
    os.chmod(file, 0o666)


def in_a_folder_of_others(file: Path) -> None:
    os.chmod(file.parent, 0o777)


def a_link(file: Path) -> None:
    file.rename(file.with_suffix(".real"))
    file.symlink_to(file.with_suffix(".real"))


def of_another_user(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(file, 12345, -1)


@pytest.mark.parametrize("spoil", everyday([written_by_others, in_a_folder_of_others, a_link, of_another_user], 4))
def test_what_others_may_have_written_is_not_read(file, tmp_path, spoil):
    file.parent.mkdir(mode=0o700)
    file.write_bytes(pickle.dumps(Harmful(tmp_path / "made")))
    file.chmod(0o600)
    spoil(file)
    assert parse._lark().source_path != "<deserialized>"
    assert not (tmp_path / "made").exists()


def test_a_broken_file_is_made_anew(file):
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"no pickle")
    file.chmod(0o600)
    parse._lark()
    parse._lark.cache_clear()
    assert parse._lark().source_path == "<deserialized>"
