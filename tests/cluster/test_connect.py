"""What differs over Spark Connect is refused with a reason."""

from types import SimpleNamespace

import pytest

import cepsql


def test_a_standing_query_is_refused():
    engine = cepsql.connect(SimpleNamespace())
    engine.sql("CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR at AS at) USING json OPTIONS (path '/in')")
    with pytest.raises(cepsql.NotSupportedError, match="a standing query over Spark Connect is not supported"):
        engine.sql("SELECT a FROM s").start()
