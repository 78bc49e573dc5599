"""The rules of row patterns by their numbers, each with cases; rules/*.txt say how these are written."""

import re
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest
from clause_runs import plan, run_batch, run_stream
from golden import params

import cepsql
from cepsql.errors import Error

CASES = [param.values[0] for param in params(Path(__file__).parent / "rules", "*.txt")]
RULES = set(range(1, 33))
SECOND = 1_000_000
WHEN = re.compile(r" (after \d+|at the end)$")


@dataclass(frozen=True)
class Play:
    """A case with rows: micro-batches, how many microseconds late rows may come, and where it can run.

    shown:    columns, "*" for all, None for all but k.
    expected: the lines that come out; `counts` and `error` are what else is said there.
    """

    batches: list[list[dict]]
    delay: int
    table: bool
    stream: bool
    clause: str
    shown: list[str] | None
    expected: list[str]
    counts: dict[str, int]
    error: str | None

    @property
    def ordered(self) -> list[dict]:
        """The rows in order of time."""
        return sorted((row for batch in self.batches for row in batch), key=lambda row: row["ts"])


def read_play(case) -> Play:
    """Read a case with rows."""
    _, line, *rest = case.text.splitlines()
    options, words = re.fullmatch(r"rows(?: \(([^)]*)\))?(.*)", line).groups(default="")
    shown = rest.pop(0).split()[1:] if rest[0].startswith("show ") else None
    delay = re.search(r"delay (\d+)", options)
    said = case.expected.splitlines()
    return Play(
        batches=_batches(words),
        delay=int(delay[1]) * SECOND if delay else 0,
        table="stream" not in options,
        stream="table" not in options,
        clause=_whole("\n".join(rest)),
        shown=shown,
        expected=[text for text in said if not text.startswith(("counts ", "error "))],
        counts={n: int(c) for text in said if text.startswith("counts ") for n, c in re.findall(r"(\w+) (\d+)", text)},
        error=next((text.removeprefix("error ") for text in said if text.startswith("error ")), None),
    )


def _whole(clause: str) -> str:
    return clause if "ORDER BY" in clause else f"PARTITION BY k ORDER BY ts {clause}"


def _statement(case) -> str:
    _, where, *rest = case.text.splitlines()
    relation = "events" if where.split()[1] == "stream" else "records"
    text = "\n".join(rest)
    return text if text.startswith("SELECT") else f"SELECT * FROM {relation} MATCH_RECOGNIZE ({_whole(text)})"


def _batches(words: str) -> list[list[dict]]:
    rows, groups = [], []
    for number, group in enumerate(words.split("|")):
        for word in group.split():
            text, _, times = word.partition("*")
            for _ in range(int(times or 1)):
                rows.append(_row(text, len(rows)))
                groups.append(number)
    if "|" in words:
        return [[row for row, g in zip(rows, groups, strict=True) if g == group] for group in range(max(groups) + 1)]
    return [list(rows_at_once) for _, rows_at_once in groupby(rows, key=lambda row: row["ts"])]


def _row(word: str, number: int) -> dict:
    key, value, second = re.fullmatch(r"(?:(\w*):)?([^@]+)(?:@(\d+))?", word).groups()
    row = {"k": "p" if key is None else key or None, "ts": int(second or number + 1) * SECOND, "n": number + 1}
    parts = value.split("/")
    numbers = [int(part) for part in parts if re.fullmatch(r"-?\d+", part)]
    text = next((part for part in parts if re.fullmatch(r"[A-Za-z]\w*", part)), None)
    return row | dict(zip("xy", [*numbers, None, None], strict=False)) | {"s": text}


def cases(kind: str, fits=lambda case: True):
    """Parametrize with the cases that fit and whose second line begins with this word, named by rule and title."""
    chosen = [case for case in CASES if case.text.splitlines()[1].split()[0] == kind and fits(case)]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.text.splitlines()[0]) for case in chosen])


def test_every_rule_has_a_case() -> None:
    titles = [case.text.splitlines()[0] for case in CASES]
    assert [title for title in titles if not re.fullmatch(r"rules? \d+(, \d+)*: \S.*", title)] == []
    assert len(set(titles)) == len(titles)
    assert {int(number) for title in titles for number in re.findall(r"\d+", title.split(":")[0])} == RULES


def test_rule_31_ids_differ_from_match_to_match_and_are_the_same_on_every_replay() -> None:
    clause = "PARTITION BY k ORDER BY ts MEASURES MATCH_ID() AS id PATTERN (A B)"
    rows = [
        {"ts": second * SECOND, "k": key, "n": 0, "x": 1, "y": 1, "s": "a"}
        for second in (1, 1, 2, 2, 3)
        for key in ("p", "q")
    ]
    table = run_batch(plan(f"SELECT * FROM records MATCH_RECOGNIZE ({clause})"), rows, [])
    ids = sorted(row["id"] for row in table)
    assert len(set(ids)) == len(ids) == 4
    stream = plan(f"SELECT * FROM events MATCH_RECOGNIZE ({clause})")
    for size in (1, 3, 10):
        outputs, _ = run_stream(stream, [rows[i : i + size] for i in range(0, len(rows), size)], SECOND)
        assert sorted(row["id"] for output in outputs for row in output) == ids


@cases("rows", lambda case: read_play(case).table)
def test_table(case) -> None:
    play = read_play(case)
    match = plan(f"SELECT * FROM records MATCH_RECOGNIZE ({play.clause})")
    if play.error:
        with pytest.raises(Error, match=re.escape(play.error)):
            run_batch(match, play.ordered, [])
    else:
        output = lines(match, run_batch(match, play.ordered, []), play.shown)
        assert sorted(output) == sorted(WHEN.sub("", line) for line in play.expected)


@cases("rows", lambda case: read_play(case).stream and not read_play(case).error)
def test_stream(case) -> None:
    """Fed row by row; what is expected may say after which row it comes."""
    play = read_play(case)
    match = plan(f"SELECT * FROM events MATCH_RECOGNIZE ({play.clause})")
    outputs, counts = run_stream(match, play.batches, play.delay)
    timed = any(WHEN.search(line) for line in play.expected)
    output_lines, number = [], 0
    for position, output in enumerate(outputs):
        number += len(play.batches[position]) if position < len(play.batches) else 0
        when = " at the end" if position == len(play.batches) else f" after {number}"
        output_lines += [line + (when if timed else "") for line in lines(match, output, play.shown)]
    assert sorted(output_lines) == sorted(play.expected)
    counted = asdict(counts.rows) | dict(counts.counters)
    assert {name: counted[name] for name in play.counts} == play.counts


@cases("refused")
def test_refused(case) -> None:
    with pytest.raises(Error) as raised:
        plan(_statement(case))
    assert case.expected in str(raised.value)


@cases("notice")
def test_notice(case) -> None:
    notices = "\n".join(plan(_statement(case)).notices)
    assert (case.expected in notices) if case.expected else not notices


def test_tables_in_spark(spark) -> None:
    """For each rule about output the first case over a table once more, with what Spark computes, in one job."""
    first = {}
    for case in CASES:
        if case.path.stem == "output" and case.text.splitlines()[1].startswith("rows"):
            play = read_play(case)
            if play.table and not play.error:
                first.setdefault(case.text.split(":")[0], play)
    queries = [_in_spark(number, play) for number, play in enumerate(first.values())]
    expected = Counter((n, WHEN.sub("", line)) for n, play in enumerate(first.values()) for line in play.expected)
    assert Counter(cepsql.connect(spark).sql("\nUNION ALL\n".join(queries)).collect()) == expected


def lines(match, rows: list[dict], shown: list[str] | None) -> list[str]:
    """Write output rows: the columns that are shown with | between them, times in seconds."""
    types = {column.name: column.type for column in match.output}
    columns = _columns(list(types), shown)

    def written(name: str, value) -> str:
        if value is None:
            return "NULL"
        if types[name] == "timestamp":
            return str(value // SECOND)
        return str(bool(value)).lower() if types[name] == "boolean" else str(value)

    return ["|".join(written(name, row[name]) for name in columns) for row in rows]


def _columns(names: list[str], shown: list[str] | None) -> list[str]:
    if shown is None:
        return [name for name in names if name != "k"]
    return names if shown == ["*"] else shown


def _in_spark(number: int, play: Play) -> str:
    """Return a query that gives the number and each line of a case over a table."""
    output = plan(f"SELECT * FROM records MATCH_RECOGNIZE ({play.clause})").output
    types = {column.name: column.type for column in output}
    shown = [f"unix_seconds(`{n}`)" if types[n] == "timestamp" else f"`{n}`" for n in _columns(list(types), play.shown)]
    cells = ", ".join(f"coalesce(CAST({column} AS STRING), 'NULL')" for column in shown)
    rows = ", ".join(f"({', '.join(_literal(row[name], name) for name in row)})" for row in play.ordered)
    source = (
        "SELECT k, ts, n, CAST(x AS INT) AS x, CAST(y AS INT) AS y, CAST(s AS STRING) AS s "
        f"FROM VALUES {rows} AS v({', '.join(play.ordered[0])})"
    )
    return f"SELECT {number} AS number, concat_ws('|', {cells}) AS line FROM ({source}) MATCH_RECOGNIZE ({play.clause})"


def _literal(value, name: str) -> str:
    if value is None:
        return "NULL"
    if name == "ts":
        return f"TIMESTAMP'{datetime.fromtimestamp(value // SECOND, UTC):%Y-%m-%d %H:%M:%SZ}'"
    return f"'{value}'" if isinstance(value, str) else str(value)
