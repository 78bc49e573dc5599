"""The site of the documentation: its links lead somewhere, it needs no other server, and its search finds pages."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_LOADED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["']?(https?:)?//[^"' >]+""")
_STYLED = re.compile(r"""url\(["']?(?:https?:)?//[^)]+\)|@import""")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    # Strict: a link that leads nowhere is an error.
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return folder


def test_it_loads_nothing_from_elsewhere(site):
    pages = {page.name: page.read_text("utf-8") for page in site.rglob("*.html")}
    assert [match[0] for text in pages.values() for match in _LOADED.finditer(text)] == []
    assert [match[0] for style in site.rglob("*.css") for match in _STYLED.finditer(style.read_text("utf-8"))] == []
    # What is left as text would be drawn by a program that comes from elsewhere.
    texts = [page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")]
    diagrams = sum(text.count("```mermaid") for text in texts)
    assert sum(text.count('<div class="diagram"><svg id="diagram-') for text in pages.values()) == diagrams > 0
    assert [name for name, text in pages.items() if 'class="mermaid"' in text] == []


def test_code_in_tables_has_no_backslash_before_a_bar(site):
    pages = [page.read_text("utf-8") for page in site.glob("*.html")]
    cells = [cell for text in pages for cell in re.findall(r"<td\b.*?</td>", text, re.DOTALL)]
    codes = [code for cell in cells for code in re.findall(r"<code>(.*?)</code>", cell)]
    assert [code for code in codes if "\\|" in code] == []
    assert "A | B" in codes


def test_no_table_has_an_empty_header(site):
    heads = [
        head for page in site.glob("*.html") for head in re.findall(r"<thead>.*?</thead>", page.read_text(), re.DOTALL)
    ]
    assert heads and [head for head in heads if not re.sub(r"<[^>]+>|\s", "", head)] == []


def test_sql_has_the_colours_of_the_shell(site):
    text = (site / "patterns.html").read_text("utf-8")
    for word in ("MATCH_RECOGNIZE", "PATTERN", "DEFINE", "MEASURES", "WITHIN"):
        assert f'<span class="k">{word}</span>' in text, word
    assert re.search(
        r'DEFINE</span>\s*<span class="nv">[A-Z]+</span>', re.sub(r'<span class="w">\s*</span>', " ", text)
    )
    # What a reader sees is what the page says.
    tutorial = (site / "tutorial.html").read_text("utf-8")
    assert '<span class="gp">cepsql&gt; </span><span class="k">DESCRIBE</span>' in tutorial


def test_its_search_finds_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    locations = {entry["location"].partition("#")[0] for entry in index["docs"] if "watermark" in entry["text"].lower()}
    assert {"streams.html", "windows.html"} <= locations
    assert [place for place in locations if not (site / place).exists()] == []
