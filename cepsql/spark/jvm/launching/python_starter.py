"""Starts the Python processes that read Spark's sources, by forking itself with what they need already loaded.

Spark starts such a process for each streaming query and waits ten seconds for it. A Python that starts by itself
imports pyspark first, which takes longer where many start on a busy machine. `python_starter.py SOCKET` listens there
for `cepsql.spark.jvm.launching.python_launcher`, and ends when its standard input does.
"""

import gc
import marshal
import os
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from importlib import import_module

MODULE = "pyspark.sql.streaming.python_streaming_source_runner"
"""What it runs."""

_NEEDED = ("cepsql.spark.sources.kafka_source", MODULE)
_LENGTH = struct.Struct(">Q")


def serve(path: str) -> None:
    """Load what is needed, then fork a process for each connection until standard input ends."""
    for name in _NEEDED:
        import_module(name)
    # Each process runs it as its main module.
    del sys.modules[MODULE]
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(128)
        print("ready", flush=True)
        while 0 not in select.select([0, listening.fileno()], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _become(connection)
            connection.close()


def _become(connection: socket.socket) -> None:
    """Be the process that a launcher asks for, to its end or that of the launcher."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        length, channels, _, _ = socket.recv_fds(connection, _LENGTH.size, 3)
        with connection.makefile("rb") as file:
            environment, folder, arguments = marshal.loads(file.read(*_LENGTH.unpack(length)))
        for number, channel in enumerate(channels):
            os.dup2(channel, number)
            os.close(channel)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path += [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        sys.argv[1:] = arguments[2:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(connection: socket.socket) -> None:
    """End this process when the launcher, which Spark takes for it, has ended."""
    while connection.recv(64):
        pass
    os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1])
