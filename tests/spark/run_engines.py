"""Engines of one process that have no session given, and what each of them says: a line a step."""

import sys
from pathlib import Path

import cepsql


def said(engine):
    try:
        return engine.query("SELECT current_timezone() AS zone, 1/0 AS z").collect()[0].zone
    except cepsql.DataError:
        return "an error"


def tell(*values):
    print(*values, flush=True)


folder = Path(sys.argv[1])
try:
    _ = cepsql.connect(conf={"spark.sql.ansi.enabled": "yes"}).spark
except cepsql.OperationalError as error:
    tell(error.message)
(folder / "1.csv").write_text("1\n2\n")
first = cepsql.connect(master="local[2]", conf={"spark.sql.session.timeZone": "Europe/Berlin"})
strict = cepsql.connect(ansi=True)
plain = cepsql.connect(conf={"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": 3})
tell(said(first), said(strict), said(plain), plain.spark.conf.get("spark.sql.shuffle.partitions"))
first.sql("SET spark.sql.session.timeZone = 'Asia/Tokyo'")
tell(said(first), said(plain))
# A frame of another engine is read with the settings of the one that asks.
tell(plain.query("SELECT count(*) AS n FROM three", three=first.spark.range(3)).collect()[0].n)
plain.sql(f"CREATE STREAM lines (n INT) USING csv OPTIONS (path '{folder}')")
rows = []
standing = plain.query("SELECT n FROM lines").start(lambda table, _: rows.extend(table["n"].to_pylist()))
standing.process_available()
first.close()
(folder / "2.csv").write_text("3\n")
standing.process_available()
tell(rows, standing.status, said(plain))
strict.close()
guest = cepsql.connect(plain.spark)
plain.close()
tell(standing.status, said(guest))
context = guest.spark.sparkContext
guest.close()
tell("stopped" if context._jsc is None else "runs")
last = cepsql.connect(conf={"spark.sql.shuffle.partitions": 3})
tell(said(last))
last.close()
