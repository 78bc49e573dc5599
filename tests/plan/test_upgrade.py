"""What a new text of a query means for the checkpoint of the one before."""

import json
from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.analysis.sql.canonical import canonical_json
from cepsql.plan.identity import describe_plan
from cepsql.plan.upgrade import COMPATIBLE, REPLAYABLE, SAME, upgrade

HERE = Path(__file__).parent
BETWEEN = "\n~~~~\n"


def described(text: str, session=None) -> dict:
    return json.loads(canonical_json(describe_plan(engine().sql(text).plan, session or {}, str)))


@pytest.mark.parametrize("case", params(HERE, "upgrades.sql"))
def test_upgrade(case, update):
    before, after = map(described, case.text.split(BETWEEN))
    comparison = upgrade(before, after)
    assert upgrade(after, before).kind == comparison.kind and upgrade(before, before).kind == SAME
    check(case, f"{comparison.kind}\n{comparison.differences}".rstrip(), update)


@pytest.mark.parametrize("earlier", json.loads((HERE / "earlier_descriptions.json").read_text()))
def test_an_earlier_version_described_views_and_ctes_as_parts_of_their_own(earlier):
    now = described(earlier["text"])
    assert upgrade(earlier["description"], now).kind == SAME
    other = json.loads(json.dumps(earlier["description"]).replace("/data/ticks", "/data/other"))
    assert upgrade(other, now).kind != SAME


def test_other_settings_are_not_compatible():
    one = described("SELECT sym FROM ticks", {"spark.sql.session.timeZone": "UTC"})
    other = described("SELECT ts FROM ticks", {"spark.sql.session.timeZone": "Asia/Tokyo"})
    assert upgrade(one, other).kind == REPLAYABLE
    assert upgrade(one, described("SELECT ts FROM ticks", {"spark.sql.session.timeZone": "UTC"})).kind == COMPATIBLE
