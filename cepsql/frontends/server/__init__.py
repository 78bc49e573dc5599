"""`cepsql serve`: runs the queries of a catalog without a terminal."""

from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Run `cepsql serve` with these arguments; return the exit code."""
    from cepsql.frontends.server.serve import serve

    return serve(argv)
