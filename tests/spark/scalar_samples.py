"""Columns of the types that scalar expressions compute with, and values at the ends of these types."""

import datetime
import math
from decimal import Decimal

NAN, INF, D = math.nan, math.inf, Decimal
UTC = datetime.UTC
TYPES = {
    "y": "tinyint", "h": "smallint", "i": "int", "l": "bigint", "f": "float", "d": "double", "m": "decimal(5,2)",
    "w": "decimal(38,0)", "q": "decimal(38,18)", "v": "decimal(18,17)", "s": "string", "b": "boolean", "e": "date",
    "t": "timestamp", "n": "timestamp_ntz",
}  # fmt: skip
CLOCKS = [datetime.datetime(2024, 3, 31, hour, minute, tzinfo=UTC) for hour in (0, 1, 2) for minute in (0, 30)] + [
    datetime.datetime(2024, 10, 27, hour, minute, 0, 7, tzinfo=UTC) for hour in (0, 1) for minute in (0, 59)
]
VALUES = {
    "y": [-128, 127, 0, 1, -1, 5],
    "h": [-(2**15), 2**15 - 1, 0, 3, 1, -2],
    "i": [-(2**31), 2**31 - 1, 0, 1, 7, -3, 16777217],
    "l": [-(2**63), 2**63 - 1, 0, 1, 12, -5, 2**53 + 1, 36028797018963969],
    "f": [0.0, -0.0, 1.5, NAN, INF, 0.10000000149011612, 1.0, 16777216.0],
    "d": [0.0, -0.0, 1.5, NAN, -INF, 0.1, 1.0, 1e300, 5e-324, 2.0**53, 9.3e18],
    "m": [D("0.00"), D("999.99"), D("-1.50"), D("1.00"), D("0.10"), D("0.01")],
    "w": [D(0), D("9" * 38), D("-" + "9" * 38), D(1), D(7), D("12345678901234567890")],
    "q": [D(0), D("99999999999999999999.999999999999999999"), D("1.000000000000000001"), D("-0.333333333333333333")],
    "v": [D(0), D("9.99999999999999999"), D("0.33333333333333333"), D("-1.00000000000000001"), D("1")],
    "s": ["", "1", "1.0", " 7 ", "-3", "x", "true", "2024-03-31", "2024-03-31 02:30:00", "NaN", "1e2", "0.10"],
    "b": [True, False],
    "e": [datetime.date(2024, 3, 31), datetime.date(1970, 1, 1), datetime.date(2024, 10, 27), datetime.date(1, 1, 1)],
    "t": [*CLOCKS, datetime.datetime(1970, 1, 1, tzinfo=UTC), datetime.datetime(2024, 3, 30, 12, tzinfo=UTC)],
    "n": [c.replace(tzinfo=None) + datetime.timedelta(hours=1) for c in CLOCKS] + [datetime.datetime(2024, 3, 31)],
}
NESTED = {
    "ai": "array<int>", "as": "array<string>", "ad": "array<double>", "am": "array<decimal(5,2)>",
    "k": "map<string,int>", "o": "map<int,double>", "r": "interval day to second",
}  # fmt: skip
NESTED_VALUES = {
    "ai": [[], [1, 2, 2, None], [7], [2**31 - 1, -(2**31), 0, 1], [None]],
    "as": [[], ["a", "b", None, "a"], ["1", ""], ["true"], ["x", "é"]],
    "ad": [[], [1.5, NAN, None, NAN], [0.0, -0.0], [-0.0], [0.0, 2.0], [INF, -INF, 1.0]],
    "am": [[], [D("1.00"), D("-1.50"), None], [D("999.99"), D("1.00")]],
    "k": [{}, {"a": 1, "b": None}, {"1": 7}, {"x": 0, "": 5}],
    "o": [{}, {1: 1.5, 2: NAN}, {0: None, 7: INF}],
    "r": [datetime.timedelta(0), datetime.timedelta(days=1, microseconds=1), datetime.timedelta(days=-3, hours=5)],
}
