"""The rows with the first ranks, whenever they change, are those that sorting all rows that are there gives."""

from collections import Counter, defaultdict

import pyarrow as pa
from chance import examples
from change_streams import GONE_KINDS, Running, applied, canonical, changes
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.changing.change_rows import IDENTITY, KIND
from cepsql.operators.changing.ranked_rows import RANK, RankedRowsOperator, Ranking
from cepsql.ordered.operator import Change
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout

SCHEMA = pa.schema(
    [("k0", pa.string()), ("t", pa.int64()), ("o0", pa.int64()), ("o1", pa.float64()), ("v0", pa.string()),
     (IDENTITY, pa.string()), (KIND, pa.int8())]
)  # fmt: skip
ROWS = {
    "k0": st.sampled_from(["a", "b", None]), "t": st.just(0), "o0": st.sampled_from([None, 1, 2]),
    "o1": st.sampled_from([None, -0.0, 0.0, 1.5, float("nan")]), "v0": st.sampled_from([None, "x", "y"]),
    IDENTITY: st.sampled_from("pq"),
}  # fmt: skip
ORDER = (OrderColumn("o0", "a", True, False), OrderColumn("o1", "b"))
NAMES = ("k0", "o0", "o1", "v0")


def layout(keyed: bool, retracting: bool) -> RowLayout:
    hidden = (Column(IDENTITY, "i"), Column(KIND, "c")) if retracting else ()
    keys = (Column("k0", "k"),) if keyed else ()
    own = () if keyed else (Column("k0", "k"),)
    return RowLayout(keys, Column("t", "0"), ORDER, (*own, Column("v0", "c"), *hidden))


def by_hand(rows, ranking: Ranking, limit: int | None, keyed: bool) -> list[tuple[dict, int]]:
    """Return the rows with the first ranks, and the ranks, by a plain loop."""

    def order(row):
        number = canonical(row["o1"])
        least = (row["o1"] is not None, number == "nan", 0 if number in (None, "nan") else number)
        return row["o0"] is None, -(row["o0"] or 0), least

    groups = defaultdict(list)
    for row in rows:
        groups[row["k0"] if keyed else None].append(row)
    ranked = []
    for group in groups.values():
        text = ((row["v0"] is not None, row["v0"] or "") for row in group)
        key = ((row["k0"] is not None, row["k0"] or "") for row in group)
        tied = sorted(zip(map(order, group), key, text, range(len(group)), strict=True))
        ordered = [(one, group[place]) for one, _, _, place in tied]
        orders = [one for one, _ in ordered]
        for number, (one, row) in enumerate(ordered):
            match ranking:
                case Ranking.ROW_NUMBER:
                    rank = number + 1
                case Ranking.RANK:
                    rank = orders.index(one) + 1
                case Ranking.DENSE_RANK:
                    rank = len(set(orders[: orders.index(one)])) + 1
            if limit is None or rank <= limit:
                ranked.append((row, rank))
    return ranked


@settings(max_examples=examples(25))
@given(
    changes(ROWS), st.sampled_from(list(Ranking)), st.sampled_from([None, 1, 2, 3]), st.booleans(), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_first_ranks_are_those_of_the_rows_that_are_there(batches, ranking, limit, numbered, keyed, retracting):
    operator = RankedRowsOperator(layout(keyed, retracting), ranking, limit, numbered, retracting)
    schema = SCHEMA if retracting else pa.schema([f for f in SCHEMA if f.name not in (IDENTITY, KIND)])
    names = (*NAMES, RANK) if numbered else NAMES
    running, table, there = Running(operator, schema), Counter(), []
    hidden = (RANK, IDENTITY) if numbered else (IDENTITY,)
    for batch, remaining in batches:
        came = batch if retracting else [row for row in batch if row[KIND] not in GONE_KINDS]
        there = remaining if retracting else [*there, *came]
        before = Counter(table)
        row_changes = running.take([{name: row[name] for name in schema.names} for row in came])
        applied(table, row_changes, names)
        assert all(tuple(row)[-len(hidden) :] == hidden for _, row in row_changes)
        wanted = [row | {RANK: rank} for row, rank in by_hand(there, ranking, limit, keyed)]
        assert table == Counter(tuple(repr(canonical(row[name])) for name in names) for row in wanted)
        assert not row_changes or retracting or before != table
        if numbered and ranking == Ranking.ROW_NUMBER:
            identities = [row[IDENTITY] for kind, row in row_changes if kind not in GONE_KINDS]
            assert len(set(identities)) == len(identities)


def row(key: str, number: int, **values) -> dict:
    return {"k0": key, "t": 0, "o0": number, "o1": None, "v0": None} | values


def test_the_last_row_of_a_key_is_updated():
    operator = RankedRowsOperator(layout(True, False), Ranking.ROW_NUMBER, 1, False, False)
    running = Running(operator, pa.schema(list(SCHEMA)[:5]))
    assert [kind for kind, _ in running.take([row("a", 1), row("a", 2)])] == [Change.INSERT]
    changed = running.take([row("a", 3), row("b", 1), row("a", 1)])
    assert [(kind, r["k0"], r["o0"]) for kind, r in changed] == [
        (Change.UPDATE_BEFORE, "a", 2), (Change.UPDATE_AFTER, "a", 3), (Change.INSERT, "b", 1)
    ]  # fmt: skip
    assert running.take([row("a", 2)]) == []


def test_rows_that_stay_are_forgotten_behind_the_limit():
    operator = RankedRowsOperator(layout(True, False), Ranking.ROW_NUMBER, 3, True, False)
    running = Running(operator, pa.schema(list(SCHEMA)[:5]))
    for number in range(5):
        running.take([row(key, 10 * number + place) for key in "ab" for place in range(10)])
    assert running.remembered("rows").num_rows == 6
