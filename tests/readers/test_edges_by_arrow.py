"""What Arrow reads at the ends of each type is what Spark reads there, as tests/spark/test_type_edges.py has found."""

import pytest
from chance import everyday
from type_edges import ZONE_HOURS, Edge, edges, shown
from values import plain_values

from cepsql.readers.scan.layout import FileLayout, readable_type
from cepsql.readers.scan.read import read_chunks
from cepsql.scalar.types import BIGINT, is_decimal, parse_type
from cepsql.scalar.zone import Zone

ZONE = Zone((), (ZONE_HOURS * 3_600_000_000,))


@pytest.mark.parametrize("kind", ["csv", "string", "token"])
def test_a_line_alone(kind, tmp_path):
    tried = [edge for edge in edges() if getattr(edge, kind) != "-" and readable_type(edge.type) is not None]
    # Of JSON with decimals the scan reads nothing.
    tried = [edge for edge in tried if kind == "csv" or not is_decimal(parse_type(edge.type))]
    assert len(tried) > 100
    tried = everyday(tried, 3)
    meanings = [meant(edge, kind, tmp_path) for edge in tried]
    cases = zip(tried, meanings, strict=True)
    wrong = [(e.type, e.text, getattr(e, kind), text) for e, text in cases if text != getattr(e, kind)]
    assert wrong == []


def meant(edge: Edge, kind: str, folder) -> str:
    line = edge.lines("x")[kind]
    file = folder / "one.txt"
    file.write_text(f"1,{line}\n" if kind == "csv" else f'{{"id":1,{line}}}\n', "utf-8", newline="")
    columns = (("id", BIGINT), ("x", parse_type(edge.type)))
    layout = FileLayout("csv" if kind == "csv" else "json", columns, frozenset({"id", "x"}))
    chunks = [chunk for _, chunk in read_chunks([str(file)], layout, ZONE)]
    values = [shown(value) for chunk in chunks for value in plain_values(chunk.columns["x"])]
    return "malformed" if sum(chunk.malformed for chunk in chunks) else ", ".join(values)
