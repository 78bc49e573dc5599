"""Asks `cepsql.spark.jvm.launching.python_starter` for a Python process, and stands for it.

It is run as `python_launcher.py PYTHON SOCKET ARGUMENTS`.
Spark runs it in place of Python, without site packages, so it imports nothing but modules of Python. It ends when the
process ends, and the process when it does. Where nobody answers at the socket it becomes that Python itself.
"""

import marshal
import os
import socket
import struct
import sys


def main(python: str, path: str, *arguments: str) -> None:
    """Hand the environment, folder, arguments and channels of this process over, and wait for the end of the other."""
    request = marshal.dumps((dict(os.environ), os.getcwd(), arguments))
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        socket.send_fds(connection, [struct.pack(">Q", len(request))], [0, 1, 2])
        connection.sendall(request)
    except OSError:
        os.execv(python, [python, *arguments])
    while connection.recv(64):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
