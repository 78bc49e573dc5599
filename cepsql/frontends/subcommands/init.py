"""`cepsql init`: a folder to begin with."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from cepsql.errors import ExitCode, InterfaceError
from cepsql.frontends.command_options import Parser

_NEXT = """\
made {folder}: a stream, a query, and a test of the query
  cd {folder}
  cepsql check streams.sql rising.sql             read them without running them
  cepsql test rising.test                         rows in, rows expected, batch by batch
  cepsql -f streams.sql -f rising.sql --drain     run the query over data/"""


def init(argv: Sequence[str]) -> int:
    """Write a project into the folder named in `argv`; return the exit code. Files that are there stay."""
    options = Parser(
        prog="cepsql init", description="Make a folder with a stream, a query over it, and a test of the query."
    )
    options.add_argument(
        "folder", nargs="?", default="cepsql-project", type=Path, metavar="FOLDER", help="the new folder"
    )
    folder = options.parse_args(argv).folder
    files = list(_files(resources.files("cepsql.frontends.subcommands") / "project", Path()))
    there = [str(folder / path) for path, _ in files if (folder / path).exists()]
    if there:
        options.error(f"{', '.join(there)} exists already")
    try:
        for path, text in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
    except OSError as error:
        raise InterfaceError(f"{folder} cannot be made: {error.strerror}") from error
    print(_NEXT.format(folder=folder))
    return ExitCode.OK


def _files(source, below: Path):
    """Yield the files of a resource folder: their paths in it, and their texts."""
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, below / entry.name)
        else:
            yield below / entry.name, entry.read_text("utf-8")
