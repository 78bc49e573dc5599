"""The result of a statement that is not a query."""

from dataclasses import dataclass
from typing import Literal

from cepsql.render.readable import Readable


@dataclass(frozen=True, repr=False)
class Answer(Readable):
    """The result of a statement that is not a query: a small table, a message, both, or a text for a file."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple, ...] = ()
    message: str = ""
    text: str = ""
    layout: Literal["table", "lines", "wrapped"] = "table"
    """How people see the rows; those of one column may be lines of a text, which the screen's width may break."""
    notices: tuple[str, ...] = ()
    """What the user should know about the query of the statement."""
    token: str | None = None
    """What INSERT INTO a stream gives, by which WAIT FOR and AFTER wait until a view has taken the rows."""

    def __str__(self) -> str:
        """Write it as the shell does."""
        # Rendering loads Arrow, which few answers need.
        from cepsql.render.answer_text import answer_text

        return answer_text(self.columns, self.rows, self.layout, self.message, self.text)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        from cepsql.render.html import answer_html

        return answer_html(self.columns, self.rows, self.layout, self.message, self.text)
