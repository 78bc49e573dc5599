"""Settings of the command line; the order of precedence: options, the environment, the user's file, the defaults."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cepsql.base.output_formats import FORMATS
from cepsql.errors import InterfaceError, suggestion


@dataclass(frozen=True)
class Setting:
    """A setting: its name in the file, its default, the function that reads a text, and its meaning.

    Its environment variable is CEPSQL_ and its name in upper case.
    """

    name: str
    default: object
    read: Callable[[str], object]
    help: str

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"CEPSQL_{self.name.upper()}"


@dataclass(frozen=True)
class Chosen:
    """The value of a setting, and its origin."""

    value: object
    origin: str


def config_file() -> Path:
    """Return the path of the user's settings: CEPSQL_CONFIG, or config.toml in the configuration folder."""
    if path := os.environ.get("CEPSQL_CONFIG"):
        return Path(path)
    return config_folder() / "config.toml"


def config_folder() -> Path:
    """Return the folder of the user's configuration of cepsql."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "cepsql"


def choose(typed: Mapping[str, object]) -> dict[str, Chosen]:
    """Return every setting with its value and origin.

    typed: the values given on the command line, by name.
    Raises InterfaceError for a file or a variable that cannot be read.
    """
    path = config_file()
    written = _read_file(path)
    unknown = next((name for name in written if name not in _BY_NAME and name != "conf"), None)
    if unknown is not None:
        hint = suggestion(unknown, [*_BY_NAME, "conf"], "settings")
        raise InterfaceError(f"{path} has the setting {unknown}, which there is not", hint=hint)
    chosen = {}
    for setting in SETTINGS:
        if setting.name in typed:
            chosen[setting.name] = Chosen(typed[setting.name], "command line")
        elif text := os.environ.get(setting.variable):
            chosen[setting.name] = Chosen(_read(setting, text, setting.variable), setting.variable)
        elif setting.name in written:
            value = written[setting.name]
            if setting.read is str and not isinstance(value, str):
                raise InterfaceError(f"{setting.name} in {path} is {value!r}: it must be a text in quotes")
            text = _text(value, setting.name, path)
            chosen[setting.name] = Chosen(_read(setting, text, str(path)), str(path))
        else:
            chosen[setting.name] = Chosen(setting.default, "default")
    return chosen


def spark_conf() -> dict[str, str]:
    """Return Spark's settings in the user's file: its table `conf`."""
    conf = _read_file(config_file()).get("conf", {})
    if not isinstance(conf, dict):
        raise InterfaceError(f"conf in {config_file()} must be a table: [conf]")
    return {key: _text(value, f"conf.{key}", config_file()) for key, value in _flat(conf)}


def _text(value: object, name: str, path: Path) -> str:
    """Return a value of the file as the text of an environment variable."""
    if isinstance(value, list | dict):
        raise InterfaceError(f"{name} in {path} is {value!r}: it must be a single value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flat(table: dict, before: str = "") -> list[tuple[str, object]]:
    """Return the entries of a table; TOML reads a key with dots as nested tables."""
    entries: list[tuple[str, object]] = []
    for key, value in table.items():
        entries += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return entries


def _read_file(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InterfaceError(f"{path} cannot be read: {error}") from error


def _read(setting: Setting, text: str, origin: str) -> object:
    try:
        return setting.read(text)
    except ValueError as error:
        raise InterfaceError(f"{setting.name} in {origin} is {text!r}: {error}") from error


def one_of(*values: str) -> Callable[[str], str]:
    """Return a function that reads one of some words."""

    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"it must be {', '.join(values[:-1])} or {values[-1]}")
        return text

    return read


def count(text: str) -> int:
    """Read a number of rows."""
    if not text.isdecimal():
        raise ValueError("it must be a number of rows")
    return int(text)


def rows_or_all(text: str) -> int | None:
    """Read a number of rows, None for all."""
    return None if text == "all" else count(text)


def switch(text: str) -> bool:
    """Read true or false."""
    return one_of("true", "false")(text) == "true"


SETTINGS = (
    Setting("format", "table", one_of(*FORMATS), "how rows are written"),
    Setting("max_rows", 1000, rows_or_all, "rows of a bounded result on a terminal; all for no limit"),
    Setting("master", None, str, "Spark master; local[*] if none is named"),
    Setting("ansi", None, switch, "whether 1/0 and casts that fail are errors; default: NULL"),
    Setting("catalog", None, str, "where definitions are kept; default: nowhere"),
    Setting("timezone", None, str, "session time zone; the machine's if none is named"),
    Setting("editing_mode", "emacs", one_of("emacs", "vi"), "keys of the shell"),
    Setting("confirm", True, switch, "whether the shell asks before it drops something for good"),
    Setting("prepare", True, switch, "whether the class archive, for faster starts, is made after the first run"),
    Setting("pager", True, switch, "whether bounded results that do not fit the screen go to a pager"),
    Setting("history", True, switch, "whether the shell keeps its history in a file"),
)
"""All settings."""

_BY_NAME = {setting.name: setting for setting in SETTINGS}
