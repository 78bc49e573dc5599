"""The options of `cepsql serve`."""

import argparse
import os
from urllib.parse import urlsplit

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.frontends.command_options import Help, Parser, seconds, setting
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.users import READER, ROLES, Users, is_loopback, read_users
from cepsql.standing.reconciling.pauses import LONGEST

_SHORTEST = 1.0
"""A lease is renewed five times while it lasts, by a machine that may be busy."""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the options."""
    options = Parser(
        prog="cepsql serve",
        description="Run the queries of a catalog. Any process on the catalog starts, pauses, alters and stops them.",
        epilog="One server of a catalog runs its queries; others stand by and take over when it dies. SIGTERM ends "
        f"each query after its batch. A query that fails is started again after pauses of up to {LONGEST:.0f} seconds. "
        "The log on standard error is JSON, an object a line. Exit codes: 0 ended by a signal, 1 the catalog cannot "
        "be used, 2 wrong usage, 3 Spark cannot start.",
        formatter_class=Help,
        allow_abbrev=False,
    )
    add = options.add_argument
    add("--catalog", metavar="LOCATION", default=os.environ.get("CEPSQL_CATALOG"),
        help="the catalog: a file, or postgresql://host/database (default: CEPSQL_CATALOG)")  # fmt: skip
    add("--create-catalog", action="store_true", help="make the catalog if it is missing or empty")
    add("--metrics-port", type=_port, metavar="N", help="serve /metrics (Prometheus) and /healthz on this port")
    add("--metrics-host", metavar="HOST", default="127.0.0.1", help="the address to serve them on (default: 127.0.0.1)")
    add("--lease", type=_lease, default=None, metavar="SECONDS",
        help="how long a dead server keeps its queries (default: 5)")  # fmt: skip
    add("--master", metavar="URL", help="Spark master (default: local[*])")
    add("--conf", action="append", type=setting, default=[], metavar="KEY=VALUE", help="a Spark setting")
    listening = options.add_argument_group(
        "access over the network",
        "psql, drivers of PostgreSQL and HTTP clients read views. Nothing listens unless --listen or --http say so.",
    )
    add = listening.add_argument
    add(
        "--listen", type=_address, metavar="HOST:PORT", help="speak PostgreSQL's protocol there, such as 127.0.0.1:5439"
    )
    add("--http", type=_address, metavar="HOST:PORT", help="serve views over HTTP there, such as 127.0.0.1:8439")
    add("--users", metavar="FILE",
        help="who may connect, with roles and passwords; needed on other addresses than loopback")  # fmt: skip
    add("--role", choices=ROLES, help="what everybody on this machine may do without --users (default: reader)")
    add("--tls-cert", metavar="FILE", help="the certificate for connections with TLS")
    add("--tls-key", metavar="FILE", help="its key")
    add("--max-rows", type=_count, default=Limits.rows, metavar="N", help="rows in an answer (default: %(default)s)")
    add("--max-seconds", type=seconds, default=Limits.seconds, metavar="SECONDS",
        help="how long a read may take (default: %(default)s)")  # fmt: skip
    add("--max-reads", type=_count, default=Limits.reads, metavar="N", help="reads at once (default: %(default)s)")
    add("--max-connections", type=_count, default=Limits.connections, metavar="N",
        help="connections at once (default: %(default)s)")  # fmt: skip
    restricted = options.add_argument_group(
        "restrictions", "Who can write to the catalog has the server's rights, unless --restricted limits them."
    )
    add = restricted.add_argument
    add("--restricted", action="store_true", help="definitions may name only what the following options allow")
    add("--allow-place", action="append", default=[], metavar="PLACE",
        help="a folder, or a URL that others begin with, such as s3a://bucket or https://host/hooks")  # fmt: skip
    add("--allow-secrets", action="append", default=[], metavar="FOLDER", help="a folder of files for ${file:PATH}")
    add("--allow-variable", action="append", default=[], metavar="NAME", help="an environment variable for ${NAME}")
    add("--allow-function", action="append", default=[], metavar="MODULE:NAME",
        help="a Python function of a sink USING python")  # fmt: skip
    return options


def restrictions(arguments: argparse.Namespace) -> Restrictions | None:
    """Return the restrictions of definitions, None for none; raises ValueError for contradictory options."""
    allowed = (arguments.allow_place, arguments.allow_secrets, arguments.allow_variable, arguments.allow_function)
    if not arguments.restricted:
        if any(allowed):
            raise ValueError("--allow-... is for a server with --restricted")
        return None
    for place in (*arguments.allow_place, *arguments.allow_secrets):
        if not (os.path.isabs(place) or (urlsplit(place).scheme and urlsplit(place).netloc)):
            raise ValueError(f"{place} is neither an absolute path nor a URL with a host")
    places, secrets, variables, functions = allowed
    return Restrictions(tuple(places), tuple(secrets), frozenset(variables), frozenset(functions))


def listening_users(arguments: argparse.Namespace) -> Users:
    """Return the users who may connect.

    Raises ValueError for an address that others can reach without a file of users, InterfaceError for a wrong file.
    """
    if arguments.users is not None:
        if arguments.role is not None:
            raise ValueError("--users says what each user may do, and --role is for a server without it")
        return read_users(arguments.users)
    for option, address in (("--listen", arguments.listen), ("--http", arguments.http)):
        if address is not None and not is_loopback(address[0]):
            raise ValueError(f"{option} {address[0]}: others reach this address, so --users must say who may connect")
    return Users(None, arguments.role or READER)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:5439")
    return host.strip("[]"), _port(port)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return int(text)


def _lease(text: str) -> float:
    length = seconds(text)
    if length < _SHORTEST:
        raise argparse.ArgumentTypeError(f"a lease lasts {_SHORTEST:g} second at least")
    return length


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
