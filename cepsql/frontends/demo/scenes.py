"""The queries of the demo, and how it tells what they find."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path

from cepsql.frontends.demo import stories
from cepsql.language.parse import split

_PATH_IN_SQL = "cepsql/frontends/demo/flights"
"""The folder that the SQL files name; that of the replay takes its place."""


@dataclass(frozen=True)
class Scene:
    """A query of the demo.

    file:     its SQL.
    tell:     writes a row of it as a sentence.
    order:    the column that orders its rows.
    deadline: how long absence takes to be sure; None: it reports no absence.
    explained: the aircraft for which EXPLAIN MATCH tells why it has no match; None: that is not shown.
    """

    file: str
    tell: Callable[[dict], str]
    order: str
    deadline: timedelta | None = None
    explained: str | None = None

    @property
    def text(self) -> str:
        """All statements, as the file has them."""
        return resources.files("cepsql.frontends.demo").joinpath(self.file).read_text("utf-8")

    @property
    def question(self) -> str:
        """What the query answers."""
        return self.text.splitlines()[0].removeprefix("-- ")

    @property
    def query(self) -> str:
        """The last statement, which finds the rows, without its semicolon."""
        return self.statements()[-1]

    def statements(self, folder: Path | None = None) -> list[str]:
        """Return the statements, over the flights in `folder`; None: over those of the package."""
        text = self.text if folder is None else self.text.replace(_PATH_IN_SQL, str(folder))
        return [statement.strip().rstrip(";") for _, statement in split(text)]


GROWING_DELAY = Scene("flights_growing_delay.sql", stories.growing_delay, "departed", explained="N542MQ")
SCENES = (
    GROWING_DELAY,
    Scene("flights_gone_quiet.sql", stories.gone_quiet, "departed", timedelta(days=2)),
    Scene("flights_v_shape.sql", stories.v_shape, "top_hour"),
)
