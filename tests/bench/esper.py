"""Time one query of the benchmark with Esper 9, from the same files as cepsql.

    esper.py FILES QUERY --warm-up FILES [--threads 2] [--repeat 1]

Esper has a language of its own, in which the queries stand here. It takes rows in the order in which they are sent, so
`EsperMatch.java` keeps them in a buffer for the delay of the watermark; each thread has a runtime with its share of the
keys. Its jars come by Maven, and `javac` must be there. The warm-up is the same statement over fewer rows. Prints one
JSON object: seconds and matches, one of each a run; there are no batches.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from queries import DELAY_SECONDS, QUERIES

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "servers"))
from maven import fetched  # noqa: E402

_JARS = {f"com.espertech:esper-{part}": "9.0.0" for part in ("common", "compiler", "runtime")}
_HEAP = "-Xmx2g"
"""As Spark's."""

_STATEMENT = """select * from Event match_recognize (
  partition by key
  measures {measures}
  after match skip past last row
  pattern ({pattern})
  define {define}
)"""
_A_TO_C = "A.key as key, A.price as first_price, C.price as last_price, count(B.price) as n"
_MINUTE = 60_000

STATEMENTS = {
    "match": _STATEMENT.format(
        measures=_A_TO_C,
        pattern="A B* C",
        define="A as A.kind = 'a', B as B.price > 50, C as C.kind = 'c' and C.price <= 50",
    ),
    "within": _STATEMENT.format(
        measures=_A_TO_C,
        pattern="A B*? C",
        define=f"A as A.kind = 'a' and A.price > 95, B as B.ts - A.ts < {_MINUTE}, "
        f"C as C.kind = 'c' and C.price > A.price and C.ts - A.ts < {_MINUTE}",
    ),
    "vshape": _STATEMENT.format(
        measures="S.key as key, S.price as first_price, last(U.price) as last_price, count(D.price) as n",
        pattern="S D+ U+ E",
        define="D as D.price < prev(D.price, 1), U as U.price > prev(U.price, 1), E as E.price <= prev(E.price, 1)",
    ),
    "dropped": _STATEMENT.format(
        measures="A.key as key, A.price as first_price, C.price as last_price, 1 as n",
        pattern="A B*? C",
        define="A as A.kind = 'a' and A.price > 90, C as C.kind = 'c' and C.price > 90",
    ),
}
"""Each query of `queries.py` in Esper's language. It has no WITHIN, so that `within` bounds each row's time."""


def main() -> None:
    """Run the query as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path)
    parser.add_argument("query", choices=QUERIES)
    parser.add_argument("--warm-up", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    jars = f"{fetched('esper', _JARS, alone=False)}/*"
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as classes:
        subprocess.run(["javac", "-cp", jars, "-d", classes, HERE / "EsperMatch.java"], check=True)
        command = ["java", _HEAP, "-cp", f"{classes}:{jars}", "EsperMatch", options.files, options.warm_up]
        command += [STATEMENTS[options.query], DELAY_SECONDS * 1000, options.threads, options.repeat]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    runs = [line.split() for line in done.stdout.splitlines()][-options.repeat :]
    seconds, matches = [float(run[0]) for run in runs], [int(run[1]) for run in runs]
    print(json.dumps({"seconds": seconds, "matches": matches, "batch_seconds": [], "batches": []}))


if __name__ == "__main__":
    main()
