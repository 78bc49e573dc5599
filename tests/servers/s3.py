"""An object store for tests that speaks S3: the server of moto, on loopback, and the jars with which Spark reaches it.

`python tests/servers/s3.py` fetches what is missing, starts it, says its URL, and stops it at Ctrl-C; with `--install`
it only fetches: moto with pip, into an environment of its own, and the jars with Maven, which it installs by apt if it
is not there.
"""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

from maven import CACHE, Unavailable, fetched, install_maven

BUCKET = "tests"
_MOTO = "5.2.5"
_SDK, _ACCELERATOR = "2.35.4", "1.3.1"
"""As hadoop-aws 3.5.0 has them."""
_OF_SPARK = ("slf4j-", "netty-b", "netty-c", "netty-h", "netty-r", "netty-t", "commons-", "httpc")
"""What the names of jars begin with that Spark brings itself."""
_SECONDS_TO_START = 30


@contextlib.contextmanager
def running_s3() -> Iterator[str]:
    """Start a server with the bucket BUCKET; give its URL `http://127.0.0.1:port`, and stop it at the end.

    Raises Unavailable if it or the jars cannot be had, or it does not start.
    """
    jars()
    process = None
    with tempfile.TemporaryFile() as log, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        try:
            command = [_moto() / "bin" / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            url = f"http://127.0.0.1:{port}"
            _make_bucket(process, url)
            yield url
        finally:
            if process is not None:
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


def _make_bucket(process: subprocess.Popen, url: str) -> None:
    who = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    request = urllib.request.Request(f"{url}/{BUCKET}", method="PUT", headers={"Authorization": who})
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request).close()
            return
        time.sleep(0.1)
    raise Unavailable("the server of moto did not start")


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="only fetch moto and the jars")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if parser.parse_args().install:
            _install()
        else:
            with running_s3() as at, contextlib.suppress(KeyboardInterrupt):
                print(at, flush=True)
                signal.pause()
    except Unavailable as reason:
        sys.exit(f"no S3: {reason}")
