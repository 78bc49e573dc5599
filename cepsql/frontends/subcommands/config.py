"""`cepsql config`: the settings, and where each value came from."""

from collections.abc import Sequence

from cepsql.base.secrets import is_hidden, without_password
from cepsql.errors import ExitCode
from cepsql.frontends.command_options import Parser
from cepsql.frontends.configuration import SETTINGS, choose, config_file, spark_conf


def config(argv: Sequence[str]) -> int:
    """Write every setting, its value, its origin and what it means; return the exit code."""
    Parser(
        prog="cepsql config",
        description="Show the settings and where each value comes from: options have priority over environment "
        "variables, and these over the file.",
    ).parse_args(argv)
    chosen = choose({})
    rows = [(s.name, _shown(chosen[s.name].value), chosen[s.name].origin, s.help) for s in SETTINGS]
    rows += [
        (f"conf.{key}", "*****" if is_hidden(key, value) else value, str(config_file()), "a Spark setting")
        for key, value in spark_conf().items()
    ]
    heads = ("setting", "value", "from", "meaning")
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(3)]
    for row in (heads, *rows):
        print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))
    return ExitCode.OK


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else without_password(str(value))
