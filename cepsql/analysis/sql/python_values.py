"""Values that a program gives, as the types of Python itself have them."""

import datetime
import decimal
import sys

_FINER = ("ns", "ps", "fs", "as")
"""NumPy's units of time below a microsecond, the smallest that Python and Spark have."""


def python_value(value: object) -> object:
    """Return a value of a class derived from one of Python's, or a scalar of NumPy or pandas, as Python's own type.

    Derived classes may write themselves otherwise; a missing value of pandas is None, an array of NumPy a list of what
    is in it. Anything else stays as it is.

    >>> class Sku(str):
    ...     def __str__(self): return "sku"
    >>> python_value(Sku("a"))
    'a'
    """
    # Neither is imported here: who has a value of theirs has done it.
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if any(value is getattr(pandas, name, None) for name in ("NaT", "NA")):
        return None
    if isinstance(value, getattr(numpy, "generic", ())):
        return _of_numpy(value)
    if isinstance(value, getattr(numpy, "ndarray", ())):
        return _of_array(value)
    match value:
        case bool() | None:
            return value
        case int():
            return int.__index__(value)
        case float():
            return float.__float__(value)
        case str():
            return str.__str__(value)
        case decimal.Decimal():
            return decimal.Decimal(value)
        case datetime.datetime():
            zone, fold = value.tzinfo, value.fold
            date = (value.year, value.month, value.day)
            return datetime.datetime(*date, value.hour, value.minute, value.second, value.microsecond, zone, fold=fold)
        case datetime.date():
            return datetime.date(value.year, value.month, value.day)
        case datetime.timedelta():
            return datetime.timedelta(value.days, value.seconds, value.microseconds)
    return value


def _of_array(value) -> object:
    """Return an array of NumPy as a list, one without dimensions as its value."""
    return list(value) if value.ndim else _of_numpy(value[()])


def _of_numpy(value) -> object:
    """Return a scalar of NumPy as a value of Python; one that Python has no type for as it is."""
    kind, item = value.dtype.kind, value.item()
    if kind == "f":
        return float(value)
    if kind not in "mM" or not isinstance(item, int):
        return item
    unit = value.dtype.str.partition("[")[2].rstrip("]").lstrip("0123456789")
    # item() gives whole numbers of such units, and of times that Python has no type for.
    item = value.astype(f"{kind}8[us]").item() if unit in _FINER else item
    return value if isinstance(item, int) else item
