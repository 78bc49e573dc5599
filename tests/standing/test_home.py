"""What keeps the queries of a process: one of it, whoever asks first."""

import threading

from cepsql.engine import Engine


def test_threads_that_ask_at_once_get_the_same():
    engine = Engine(None, None, {})
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
