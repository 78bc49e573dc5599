"""Which expressions are NULL wherever a value that they read is."""

from sqlglot import exp

_STRICT = (
    exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.TryCast, exp.Abs, exp.Interval,
    exp.Literal, exp.Identifier, exp.DataType, exp.Var, exp.Upper, exp.Lower, exp.Length, exp.Round, exp.Floor,
    exp.Ceil, exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Trim, exp.Substring, exp.Date, exp.Year, exp.Month, exp.Day,
    exp.Extract, exp.DateDiff, exp.TimestampTrunc, exp.TsOrDsAdd, exp.Bracket, exp.Dot, exp.IntervalSpan,
    exp.Hour, exp.Minute, exp.Second, exp.DayOfWeek, exp.DayOfMonth, exp.DayOfYear, exp.WeekOfYear, exp.Quarter,
    exp.Like, exp.ILike, exp.RegexpLike, exp.StartsWith, exp.EndsWith, exp.Contains, exp.DPipe, exp.Concat, exp.Left,
    exp.Right, exp.Replace, exp.Reverse, exp.StrPosition, exp.Repeat, exp.Pad, exp.Translate, exp.Log, exp.Sin, exp.Cos,
    exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Atan2, exp.Radians, exp.Degrees, exp.Sign, exp.IntDiv, exp.BitwiseAnd,
    exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.TimestampDiff, exp.TsOrDsToDate, exp.Cbrt, exp.UnixMicros,
)  # fmt: skip


def is_strict(node: exp.Expr) -> bool:
    """Tell whether an operation is known to be NULL where one of its arguments is; constants have none."""
    # For sqlglot CONCAT_WS, which passes over NULL, is a kind of CONCAT.
    return isinstance(node, _STRICT) and not isinstance(node, exp.ConcatWs)
