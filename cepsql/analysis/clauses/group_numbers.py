"""Frames of GROUPS, which count groups of rows that are equal in the order, as frames of RANGE over their numbers."""

from sqlglot import exp


def of_groups(call: exp.Window) -> bool:
    """Tell whether the frame of a call with OVER counts groups of equal rows."""
    spec = call.args.get("spec")
    return spec is not None and str(spec.args.get("kind")).upper() == "GROUPS"


def group_number(call: exp.Window) -> exp.Window:
    """Return the call that numbers the groups of equal rows in the partitions and the order of another one."""
    keys = [key.copy() for key in call.args.get("partition_by") or []]
    order = call.args.get("order")
    return exp.Window(
        this=exp.DenseRank(), partition_by=keys, order=None if order is None else order.copy(), over="OVER"
    )


def by_number(call: exp.Window, number: exp.Column) -> exp.Window:
    """Return a call over the same rows by the number of their group."""
    copy = call.copy()
    copy.set("order", exp.Order(expressions=[exp.Ordered(this=number.copy(), nulls_first=True)]))
    copy.args["spec"].set("kind", "RANGE")
    return copy
