"""What the servers of tests have in common: a port, Debian's packages, and a command line.

On the command line each script starts its server, says where it listens, and stops it at Ctrl-C or SIGTERM; with
`--install` it only gets what is missing, and ends.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path


class Unavailable(Exception):
    """A server cannot be had on this machine."""


def free_port() -> int:
    """Return a port of loopback that nobody listens at."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Lend a temporary folder for a server's files."""
    folder = Path(tempfile.mkdtemp(prefix=f"cepsql-{name}-"))
    try:
        yield folder
    finally:
        # A server that was killed may still write.
        shutil.rmtree(folder, ignore_errors=True)


def ending(log: Path) -> str:
    """Return the last lines of a log, to tell why a server did not start."""
    return log.read_text(errors="replace")[-2000:]


def apt_install(package: str) -> None:
    """Install one of Debian's packages. Raises CalledProcessError."""
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*sudo, "apt-get", "update", "-qq"], check=True)
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", package]
    subprocess.run([*sudo, *command], check=True)


def run_as_program(
    description: str | None, running: Callable[[], AbstractContextManager], install: Callable[[], None] | None = None
) -> None:
    """Do what the command line says.

    running: starts the server, gives what tells where it listens, and stops it at the end.
    install: gets what is missing; None: there is nothing to get.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if install is not None:
        parser.add_argument("--install", action="store_true", help="only get what is missing, and end")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if install is not None and options.install:
            install()
            return
        with running() as place, contextlib.suppress(KeyboardInterrupt):
            print(place, flush=True)
            signal.pause()
    except Unavailable as reason:
        sys.exit(f"unavailable: {reason}")
