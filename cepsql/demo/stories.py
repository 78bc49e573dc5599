"""A sentence for each match of the demo's queries."""

from datetime import datetime


def growing_delay(row: dict) -> str:
    """Tell of a match of flights_growing_delay.sql."""
    legs = ", then ".join(_leg(row, number) for number in (1, 2, 3))
    return f"{row['departed1']:%b} {row['departed1'].day}: {row['tailnum']} of {row['carrier']} left {legs}"


def _leg(row: dict, number: int) -> str:
    first, this = row["departed1"], row[f"departed{number}"]
    day = "" if this.date() == first.date() else " the day after"
    return f"{row[f'origin{number}']} at {this:%H:%M}{day}, {row[f'delay{number}']} min late"


def v_shape(row: dict) -> str:
    """Tell of a match of flights_v_shape.sql."""
    top, low, back = row["top_hour"], row["low_hour"], row["back_hour"]
    return (
        f"{top:%b} {top.day}: {row['origin']} was {row['top_delay']} min late on average in the hour from {top:%H:%M}, "
        f"{row['low_delay']} from {low:%H:%M}, and {row['back_delay']} again from {back:%H:%M}"
    )


def gone_quiet(row: dict) -> str:
    """Tell of a match of flights_gone_quiet.sql."""
    return (
        f"{row['tailnum']} left {row['origin']} for {row['dest']} as {row['carrier']} {row['flight']} on "
        f"{_day_and_time(row['departed'])}, {row['delay']} min late, and not again from New York for two days"
    )


def _day_and_time(when: datetime) -> str:
    return f"{when:%b} {when.day} at {when:%H:%M}"
