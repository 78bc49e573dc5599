"""A real PostgreSQL for tests: Debian's, one server on loopback in a temporary folder.

`python tests/servers/postgresql.py` starts it and says its URL.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from server import Unavailable, apt_install, ending, free_port, run_as_program, scratch

_SECONDS_TO_START = 60
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB")


@contextlib.contextmanager
def running_postgresql() -> Iterator["PostgreSQL"]:
    """Start a server, and stop it at the end. Raises Unavailable if it is not installed or does not start."""
    with scratch("postgresql") as folder:
        server = PostgreSQL(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


class PostgreSQL:
    """A server whose data are in a folder: it can be stopped and started again on the same port."""

    def __init__(self, folder: Path):
        self._data, self._log = folder / "data", folder / "log"
        self._programs = _programs()
        self._user = _unprivileged()
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._process: subprocess.Popen | None = None
        if self._user is not None:
            # It must be able to enter the folder.
            shutil.chown(folder, self._user)
        command = [self._programs / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync"]
        done = subprocess.run([*command, "-E", "UTF8"], capture_output=True, text=True, **self._as_user())
        if done.returncode:
            raise Unavailable(f"initdb failed: {done.stderr.strip()}")

    def __str__(self) -> str:
        return self.url

    def start(self) -> None:
        """Start the process and wait until it takes connections. Raises Unavailable if it does not."""
        command = [self._programs / "postgres", "-D", self._data, "-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self._as_user()
            )
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.1)
        self.stop()
        raise Unavailable(f"the server did not start: {ending(self._log)}")

    def stop(self) -> None:
        """End the process that `start` started, and all connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        ready = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready, capture_output=True).returncode == 0

    def _as_user(self) -> dict:
        return {"cwd": "/"} if self._user is None else {"user": self._user, "group": self._user, "cwd": "/"}


def _programs() -> Path:
    """Return the folder of the newest version's programs, which are not on the path."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if programs:
        return programs[-1].parent
    if (program := shutil.which("postgres")) and shutil.which("initdb"):
        return Path(program).resolve().parent
    raise Unavailable("PostgreSQL is not installed (python tests/servers/postgresql.py --install)")


def _unprivileged() -> str | None:
    """Return a user that the server may run as, for it refuses to be root; None: the present one."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise Unavailable("PostgreSQL does not run as root, and there is no other user")


def _install() -> None:
    with contextlib.suppress(Unavailable):
        print(_programs())
        return
    apt_install("postgresql")


if __name__ == "__main__":
    run_as_program(__doc__, running_postgresql, _install)
