"""`cepsql demo`: two months of real flights, played as a stream through three queries."""

from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Play the demo with the arguments that follow `cepsql demo`; return the exit code."""
    from cepsql.frontends.demo.play import main

    return main(argv)
