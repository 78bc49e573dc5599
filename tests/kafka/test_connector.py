"""Spark's own connector and confluent-kafka give the same rows; the command says where reading starts."""

import subprocess
import sys

import pytest
from kafka_broker import connector_jars
from skipping import skipping
from test_kafka import COLUMNS, MATCH, events

FORMATS = """
    CREATE TABLE t_{reader} (id INT, name STRING, off BIGINT METADATA FROM offset, part INT METADATA FROM partition,
      key STRING METADATA, at TIMESTAMP METADATA FROM timestamp,
      headers ARRAY<STRUCT<key STRING, value BINARY>> METADATA)
    USING kafka {options} FORMAT csv;
    SELECT id, name, off, part, key, at, hex(headers[0].value) AS h FROM t_{reader} ORDER BY off;
    CREATE STREAM ticks_{reader} ({columns}) USING kafka {ticks} FORMAT json FROM EARLIEST;
    {match};
    SET cepsql.scan = spark;
    {match};
    RESET cepsql.scan;
"""


@pytest.mark.nightly("a Spark of its own fetches the connector")
def test_both_readers_give_the_same_rows(topics):
    with skipping():
        jars = connector_jars()
    table, ticks = topics.new(1), topics.new()
    topics.put(table, b"1,a", b"x,b", b"2,\xff", b"3,c", None, b"4,d", key="k", headers=[("h", b"\x01")])
    topics.put(table, b"5,e", key=b"\xff")
    topics.put(ticks, *events(200), b"nonsense", b"\xff", None)
    start = "import sys; from cepsql.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "--master", "local[2]", "--conf", f"spark.jars={jars}", "--conf",
               "spark.sql.shuffle.partitions=2", "--drain", "--format", "csv"]  # fmt: skip
    for reader in ("python", "spark"):
        command += ["-c", FORMATS.format(
            reader=reader, options=topics.options(table, reader=reader), ticks=topics.options(ticks, reader=reader),
            columns=COLUMNS, match=MATCH.replace("FROM ticks", f"FROM ticks_{reader}"),
        )]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=240)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    half = len(lines) // 2
    assert sorted(lines[:half]) == sorted(lines[half:])
    assert lines[:4] == [
        "id,name,off,part,key,at,h",
        *(line for line in lines[1:4] if line.startswith(("1,a,0,", "3,c,3,", "4,d,5,"))),
    ]
    assert done.stderr.count("4 malformed rows left out") == 2
    assert done.stderr.count(f"is read from Kafka's {ticks} from the earliest records on") == 4
    assert done.stderr.count("malformed 3,") == 4
