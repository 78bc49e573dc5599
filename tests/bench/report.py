"""What a run of the benchmark found, as data and as text."""

import statistics
from dataclasses import asdict, dataclass

from queries import KNOWN_MATCHES

SYSTEMS = ("pass-through", "per-key", "cepsql", "cepsql-spark-scan", "flink", "flink-rocksdb", "esper")
PASS_THROUGH, PER_KEY, CEPSQL, CEPSQL_SPARK_SCAN, FLINK, FLINK_ROCKSDB, ESPER = SYSTEMS


@dataclass(frozen=True)
class Measurement:
    """One system on one set of events; lists have one entry a run.

    query:         None for systems that run none.
    seconds:       wall clock from building the query to its end.
    batch_seconds: the part of it that Spark's micro-batches took; empty for Flink and Esper, as is `batches`.
    matches:       how many rows the query gave, None if the system finds none.
    peak_mib:      greatest resident memory of the processes together, MiB.
    """

    system: str
    query: str | None
    rows: int
    keys: int
    seconds: list[float]
    batch_seconds: list[float]
    batches: list[int]
    matches: list[int | None]
    peak_mib: float

    @property
    def rows_per_second(self) -> float:
        """Rows by the median of the wall clock."""
        return self.rows / statistics.median(self.seconds)


@dataclass(frozen=True)
class Ratio:
    """How many times the rows a second of `of` those of `to` are."""

    of: str
    to: str
    query: str
    keys: int
    value: float


def ratios(measurements: list[Measurement]) -> list[Ratio]:
    """Compare cepsql, with either scan, with every other system, and with itself on the fewest keys."""
    found = []
    for system in (CEPSQL, CEPSQL_SPARK_SCAN):
        ours = [m for m in measurements if m.system == system]
        others = [m for m in measurements if m.system not in (CEPSQL, system)]
        for mine in ours:
            peers = [(m.system, m) for m in others if m.keys == mine.keys and m.query in (None, mine.query)]
            fewest = min((m for m in ours if m.query == mine.query), key=lambda m: m.keys)
            if fewest.keys < mine.keys:
                peers.append((f"{system}, {fewest.keys:,} keys", fewest))
            found += [
                Ratio(system, name, mine.query, mine.keys, mine.rows_per_second / other.rows_per_second)
                for name, other in peers
            ]
    return found


def disagreements(measurements: list[Measurement]) -> list[str]:
    """Return a sentence for each query whose numbers of matches differ between systems, runs or the known number."""
    counts: dict[tuple[int, int, str], dict[int, list[str]]] = {}
    for m in measurements:
        for matches in m.matches if m.query else ():
            counts.setdefault((m.rows, m.keys, m.query), {}).setdefault(matches, []).append(m.system)
    for case, number in KNOWN_MATCHES.items():
        if case in counts:
            counts[case].setdefault(number, []).append("known")
    return [
        f"{query}, {keys:,} keys, {rows:,} rows: "
        + "; ".join(f"{number:,} by {', '.join(systems)}" for number, systems in found.items())
        for (rows, keys, query), found in counts.items()
        if len(found) > 1
    ]


def table(measurements: list[Measurement]) -> str:
    """Write the measurements as a table, one line each."""
    head = ["system", "query", "keys", "rows", "seconds", "in batches", "batches", "rows/s", "peak MiB", "matches"]
    return _aligned([head, *map(_cells, measurements)], left=2)


def ratio_table(found: list[Ratio]) -> str:
    """Write the ratios as a table, one line each."""
    cells = [[f"{r.of} / {r.to}", r.query, f"{r.keys:,}", f"{r.value:.2f}"] for r in found]
    return _aligned([["rows/s of", "query", "keys", "ratio"], *cells], left=2)


def record(item: Measurement | Ratio) -> dict:
    """Return a measurement or ratio for one line of JSON; `kind` tells which it is."""
    if isinstance(item, Measurement):
        return {"kind": "measurement", **asdict(item), "rows_per_second": round(item.rows_per_second)}
    return {"kind": "ratio", **asdict(item)}


def _cells(m: Measurement) -> list[str]:
    return [
        m.system,
        m.query or "-",
        f"{m.keys:,}",
        f"{m.rows:,}",
        f"{statistics.median(m.seconds):.2f}",
        f"{statistics.median(m.batch_seconds):.2f}" if m.batch_seconds else "-",
        f"{max(m.batches)}" if m.batches else "-",
        f"{m.rows_per_second:,.0f}",
        f"{m.peak_mib:,.0f}",
        f"{m.matches[-1]:,}" if m.query else "-",
    ]


def _aligned(lines: list[list[str]], left: int) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    form = "  ".join(f"{{:{'<' if i < left else '>'}{width}}}" for i, width in enumerate(widths))
    return "\n".join(form.format(*line) for line in lines)
