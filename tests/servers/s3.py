"""An object store for tests that speaks S3: the server of moto, on loopback, and the jars with which Spark reaches it.

pip gets moto, into an environment of its own, and Maven the jars. `python tests/servers/s3.py` starts it and says its
URL.
"""

import contextlib
import os
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

from maven import CACHE, fetched, install_maven
from server import Unavailable, ending, free_port, run_as_program, scratch

BUCKET = "tests"
_MOTO = "5.2.5"
_SDK, _ACCELERATOR = "2.35.4", "1.3.1"
"""As hadoop-aws 3.5.0 has them."""
_OF_SPARK = ("slf4j-", "netty-b", "netty-c", "netty-h", "netty-r", "netty-t", "commons-", "httpc")
"""What the names of jars begin with that Spark brings itself."""
_SECONDS_TO_START = 30
_SERVER = """
import sys, threading
from moto.server import create_backend_app
from werkzeug.serving import run_simple

# What dispatches among all services looks for each of them on disk with each request.
application, one_at_a_time = create_backend_app("s3"), threading.Lock()

def serve(environment, respond):
    # moto looks whether a condition holds, and writes after that.
    with one_at_a_time:
        return application(environment, respond)

run_simple("127.0.0.1", int(sys.argv[1]), serve, threaded=True)
"""


@contextlib.contextmanager
def running_s3() -> Iterator[str]:
    """Start a server with the bucket BUCKET; give its URL `http://127.0.0.1:port`, and stop it at the end.

    Raises Unavailable if it or the jars cannot be had, or it does not start.
    """
    jars()
    with scratch("s3") as folder:
        port, log = free_port(), folder / "log"
        url = f"http://127.0.0.1:{port}"
        command = [_moto() / "bin" / "python", "-c", _SERVER, str(port)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            _make_bucket(process, url, log)
            yield url
        finally:
            # Nothing of it is kept.
            process.kill()
            process.wait()


def settings(url: str) -> dict[str, str]:
    """Return the settings of Spark with which it reaches a server."""
    said = {
        "endpoint": url,
        "endpoint.region": "us-east-1",
        "access.key": "testing",
        "secret.key": "testing-secret",
        "path.style.access": "true",
    }
    return {
        "spark.jars": ",".join(map(str, jars())),
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in said.items()},
    }


def jars() -> list[Path]:
    """Return the jars that Spark needs besides its own; raises Unavailable if they cannot be had."""
    import pyspark

    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    sdk = "software.amazon.awssdk"
    parts = dict.fromkeys([f"{sdk}:{name}" for name in ("s3-transfer-manager", "sts", "apache-client")], _SDK)
    accelerator = {"software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3": _ACCELERATOR}
    folders = [
        fetched("hadoop-aws", {"org.apache.hadoop:hadoop-aws": version}, alone=True),
        fetched("aws-sdk", parts | {f"{sdk}:netty-nio-client": _SDK}, alone=False),
        fetched("s3-accelerator", accelerator, alone=True),
    ]
    return [jar for folder in folders for jar in sorted(folder.iterdir()) if not jar.name.startswith(_OF_SPARK)]


def _make_bucket(process: subprocess.Popen, url: str, log: Path) -> None:
    who = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    request = urllib.request.Request(f"{url}/{BUCKET}", method="PUT", headers={"Authorization": who})
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request).close()
            return
        time.sleep(0.1)
    raise Unavailable(f"the server of moto did not start: {ending(log)}")


def _moto() -> Path:
    """Return the environment that has moto."""
    folder = CACHE / f"moto-{_MOTO}"
    if not (folder / "installed").exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
            pip = [folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check", f"moto[server]=={_MOTO}"]
            subprocess.run(pip, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unavailable(f"moto cannot be installed: {error}") from error
        (folder / "installed").touch()
    return folder


def _install() -> None:
    install_maven()
    print(_moto())
    print(*jars(), sep=os.linesep)


if __name__ == "__main__":
    run_as_program(__doc__, running_s3, _install)
