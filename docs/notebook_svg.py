"""A picture of a notebook: cells that IPython runs, with the HTML that they show, as an SVG."""

import re
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.frontends.shell.highlight import highlight

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    import cepsql

_TEXT = (Path(__file__).parents[1] / "queries" / "price_v_shape.sql").read_text("utf-8").split("\n\n", 1)[1]
_ROWS, _PATTERN = _TEXT.strip().rstrip(";").removeprefix("SELECT *\nFROM ").split("\nMATCH_RECOGNIZE")

CELLS = (
    "%load_ext cepsql",
    f"%%cepsql --name dips\nSELECT * FROM ticks MATCH_RECOGNIZE{_PATTERN}",
    'dips.explain_match("ACME")',
)
"""What is typed; `ticks` are the prices of queries/price_v_shape.sql."""


def run_cells(engine: "cepsql.Engine", cells: Sequence[str]) -> list[tuple[str, str]]:
    """Run the cells of the notebook; return the input of each with the HTML that it shows."""
    # There is one shell in a process, and tests have made theirs so.
    from IPython.testing.globalipapp import get_ipython, start_ipython

    engine.sql(f"CREATE OR REPLACE VIEW ticks AS SELECT * FROM {_ROWS}")
    shell = start_ipython() or get_ipython()
    formatter = shell.display_formatter
    before = formatter.active_types
    formatter.active_types = ["text/plain", "text/html"]
    shell.user_ns["engine"] = engine
    try:
        return [(cell, _html(shell, cell)) for cell in cells]
    finally:
        formatter.active_types = before
        del shell.user_ns["engine"]


def _html(shell: "InteractiveShell", cell: str) -> str:
    """Run a cell; return what it shows."""
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        result = shell.run_cell(cell)
    result.raise_error()
    shown = [output.data.get("text/html", escape(output.data.get("text/plain", ""))) for output in captured.outputs]
    if result.result is not None and not shown:
        shown = [shell.display_formatter.format(result.result)[0]["text/html"]]
    return "".join(shown)


def notebook_facts(cells: list[tuple[str, str]]) -> str:
    """Return the cells as text."""
    lines = []
    for cell, html in cells:
        text = re.sub(r"</t[hd]>", " | ", html)
        text = re.sub(r"</tr>|</p>|</thead>", "\n", text)
        lines += [f"In: {cell}", unescape(re.sub(r"<[^>]+>", "", text)).rstrip(), ""]
    return "\n".join(lines).rstrip()


_LETTERS = 108
"""Letters after which a line of text is wrapped."""

_NOTEBOOK_STYLE = (
    "*{box-sizing:border-box}"
    ".n{font:14px system-ui,'DejaVu Sans',sans-serif;color:#1f2328;background:#fff;padding:14px}"
    ".c{display:flex;margin-bottom:10px}.p{width:56px;color:#307fc1;font:13px monospace;padding-top:8px}"
    ".o .p{color:#bf5b3d}pre{margin:0;font:13px/1.3 ui-monospace,Menlo,'DejaVu Sans Mono',monospace;white-space:pre}"
    ".i{flex:1;border:1px solid #d0d7de;background:#f6f8fa;padding:8px}.r{flex:1;min-width:0;padding:4px 8px}"
    ".r pre{white-space:pre-wrap}"
    "table{border-collapse:collapse;font-size:13px}"
    "th,td{padding:4px 10px;text-align:left}th{border-bottom:1px solid #888}"
    "tr:nth-child(even) td{background:#f6f8fa}p{margin:6px 0}"
)


def notebook_svg(cells: list[tuple[str, str]]) -> str:
    """Draw cells as a notebook shows them."""
    width, parts, height = 960, [], 30
    for number, (cell, html) in enumerate(cells, 1):
        parts.append(
            f'<div class="c"><div class="p">[{number}]:</div><div class="i"><pre>{_coloured(cell)}</pre></div></div>'
        )
        height += 28 + 17 * (cell.count("\n") + 1)
        if html:
            parts.append(f'<div class="c o"><div class="p">[{number}]:</div><div class="r">{html}</div></div>')
            wrapped = sum(len(line) // _LETTERS for line in html.splitlines() if "<t" not in line)
            lines = html.count("\n") + html.count("<p>") + html.count("<pre") + wrapped
            height += 26 + 28 * html.count("<tr") + 17 * lines
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{_NOTEBOOK_STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>'
        f'<foreignObject width="{width}" height="{height}"><div class="n" xmlns="http://www.w3.org/1999/xhtml">'
        f"{''.join(parts)}</div></foreignObject></svg>\n"
    )


_INK = {"keyword": "#0550ae", "function": "#0550ae", "variable": "#953800", "string": "#0a7c42", "number": "#0e7490"}


def _coloured(cell: str) -> str:
    magic, end, sql = cell.partition("\n")
    if not end:
        return escape(cell)
    pieces = []
    for style, text, *_ in highlight(sql):
        ink = _INK.get(style.removeprefix("class:"))
        pieces.append(f'<span style="color:{ink}">{escape(text)}</span>' if ink else escape(text))
    return f"{escape(magic)}\n{''.join(pieces)}"
