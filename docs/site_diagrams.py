"""A hook of mkdocs: diagrams of Mermaid are drawn when the site is built, so that its readers need no other server."""

import html
import re

import mermaidx

_DIAGRAM = re.compile(r'<pre class="mermaid"><code>(.*?)</code></pre>', re.DOTALL)
_CLOSE = '%%{init: {"flowchart": {"nodeSpacing": 20, "rankSpacing": 30, "padding": 8, "wrappingWidth": 180}}}%%'
"""Lets boxes stand close to each other, so that a diagram fits the column of text."""

_WIDTH = re.compile(r"max-width: ([\d.]+)px")
_READABLE = 0.6
"""To what share of its size a diagram may shrink on a narrow screen; then it is scrolled."""


def on_page_content(content: str, **_) -> str:
    """Put the drawing in the place of each diagram's text."""
    numbers = iter(range(1, content.count('<pre class="mermaid">') + 1))
    return _DIAGRAM.sub(lambda found: _drawn(html.unescape(found[1]), f"diagram-{next(numbers)}"), content)


def _drawn(text: str, name: str) -> str:
    svg = mermaidx.render(f"{_CLOSE}\n{text}").svg().replace("my-svg", name)
    width = _WIDTH.search(svg)
    assert width is not None
    least = f"min-width: {float(width[1]) * _READABLE:.0f}px; {width[0]}"
    return f'<div class="diagram">{svg.replace(width[0], least, 1)}</div>'
