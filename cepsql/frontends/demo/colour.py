"""SQL in the shell's colours, where standard output is a terminal that shows them."""

import os
import sys

from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.utils import is_dumb_terminal

from cepsql.frontends.shell.highlight import STYLE, highlight


def print_sql(sql: str, indent: str) -> None:
    """Write SQL to standard output, each line after `indent`."""
    text = "\n".join(f"{indent}{line}" for line in sql.splitlines())
    if sys.stdout.isatty() and not is_dumb_terminal() and not os.environ.get("NO_COLOR"):
        print_formatted_text(FormattedText(highlight(text)), style=STYLE)
    else:
        print(text)
