"""A view may have rows that change; whoever reads it says that they come as changes."""

import pytest

from cepsql.engine import Engine
from cepsql.engine.context import Context
from cepsql.errors import Error

STREAMS = """
    CREATE STREAM a (k STRING, at TIMESTAMP, WATERMARK FOR at AS at) USING json OPTIONS (path '/tmp/none');
    CREATE STREAM b (k STRING, at TIMESTAMP, WATERMARK FOR at AS at) USING json OPTIONS (path '/tmp/none');
    CREATE VIEW both AS SELECT a.k, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND a.at = b.at GROUP BY a.k;
"""


def test_groups_of_a_join_are_read_as_changes():
    with Engine(Context(None, None, {})) as engine:
        engine.sql(STREAMS)
        rows = engine.sql("EXPLAIN LOGICAL SELECT * FROM both WHERE n > 1 EMIT CHANGES").rows
        text = "\n".join(line for (line,) in rows)
        assert text.index("Groups of a table") < text.index("Join")
        with pytest.raises(Error, match="needs windows of their event time"):
            engine.sql("EXPLAIN LOGICAL SELECT * FROM both")
