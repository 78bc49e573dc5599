"""What differs over Spark Connect is refused with a reason."""

import pytest

import cepsql


class RemoteSession:
    """As far as a session is asked before it is found to be remote: it has no JVM."""

    class catalog:
        @staticmethod
        def functionExists(name):
            return True


def test_a_standing_query_is_refused():
    engine = cepsql.connect(RemoteSession())
    engine.sql("CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR at AS at) USING json OPTIONS (path '/in')")
    with pytest.raises(cepsql.NotSupportedError, match="a standing query over Spark Connect is not supported"):
        engine.sql("SELECT a FROM s").start()
