"""The control folder of a standing query: a file written there ends its input."""

import os
from pathlib import Path

_END = "end.txt"


def end_input(control: str | Path) -> None:
    """Tell the query that reads this folder that no row follows; the file appears there whole or not at all."""
    folder = Path(control)
    hidden = folder / f".{_END}"
    hidden.write_text("end\n")
    os.replace(hidden, folder / _END)
