"""What keeps the queries of a process: one of it, whoever asks first."""

import threading

import pytest

from cepsql.engine import Engine
from cepsql.engine.context import Context
from cepsql.errors import NotSupportedError


def test_threads_that_ask_at_once_get_the_same():
    engine = Engine(Context(None, None, {}))
    together, homes = threading.Barrier(8), []

    def ask() -> None:
        together.wait()
        homes.append(engine.home)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert len(homes) == 8
    assert len({id(home) for home in homes}) == 1


def test_checkpoints_lie_where_their_option_says():
    with Engine(Context(None, None, {})) as engine:
        engine.sql("CREATE STREAM s (a INT) USING json OPTIONS (path '/tmp/none')")
        for name, place in (("near", "file:///data/near"), ("far", "gs://bucket/far")):
            engine.sql(f"CREATE QUERY {name} OPTIONS (checkpoint '{place}') AS SELECT a FROM s")
        near, far = (engine.catalog.query(name) for name in ("near", "far"))
        assert engine.home.checkpoint(near) == "/data/near"
        with pytest.raises(NotSupportedError, match="a checkpoint on gs: is not supported: gs://bucket/far"):
            engine.home.checkpoint(far)
