"""Flink's older windows, which stand in GROUP BY: TUMBLE(ts, INTERVAL '5' MINUTES), and TUMBLE_START(...) beside it.

They are Spark's functions `window` and `session_window`, and fields of what these give.
"""

from sqlglot import exp

_KINDS = ("TUMBLE", "HOP", "SESSION")
_BOUNDS = {"_START": "start", "_END": "end"}
_LENGTHS = {"TUMBLE": 1, "HOP": 2, "SESSION": 1}
WINDOW_FUNCTIONS = frozenset(kind + part for kind in _KINDS for part in ("", "_START", "_END", "_ROWTIME"))
"""What is written anew; TUMBLE_PROCTIME has no counterpart."""


def spark_window(call: exp.Anonymous) -> exp.Expr | None:
    """Return Spark's function in place of such a call; None for others, and where a length is no constant interval."""
    name = call.name.upper()
    kind = next((kind for kind in _KINDS if name in WINDOW_FUNCTIONS and name.startswith(kind)), None)
    if kind is None or len(call.expressions) != 1 + _LENGTHS[kind]:
        return None
    time, *intervals = call.expressions
    lengths = [_length(interval) for interval in intervals]
    if not all(lengths):
        return None
    function = "session_window" if kind == "SESSION" else "window"
    # Flink has the step first.
    made = exp.Anonymous(this=function, expressions=[time.copy(), *(length for length in reversed(lengths) if length)])
    if call.meta_get("start") is not None:
        made.meta.update(call.meta)
    part = name.removeprefix(kind)
    if not part:
        return made
    bound = exp.Dot(this=made, expression=exp.to_identifier(_BOUNDS.get(part, "end")))
    if part != "_ROWTIME":
        return bound
    # The last millisecond of the window.
    return exp.paren(
        exp.Sub(this=bound, expression=exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MILLISECOND")))
    )


def _length(interval: exp.Expr) -> exp.Expr | None:
    """Return a constant interval as a text, such as '5 minutes'; None for anything else."""
    if isinstance(interval, exp.Literal) and interval.is_string:
        return interval.copy()
    if not isinstance(interval, exp.Interval) or not isinstance(interval.this, exp.Literal):
        return None
    number, unit = interval.this.name, interval.args.get("unit")
    if unit is None:
        return exp.Literal.string(number)
    if not number.isdigit() or not isinstance(unit, exp.Var):
        return None
    return exp.Literal.string(f"{number} {unit.name.lower()}")
