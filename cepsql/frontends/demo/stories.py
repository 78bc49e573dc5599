"""A sentence for each match of the demo's queries."""

from datetime import datetime


def growing_delay(row: dict) -> str:
    """Tell of a match of flights_growing_delay.sql."""
    departed, (first, *later) = row["departed"], row["delays"]
    return (
        f"{_day(departed)}: {row['tailnum']} of {row['carrier']} left {row['origin']} at {departed:%H:%M}, "
        f"{first} min late, and its next flights {' and '.join(map(str, later))}"
    )


def v_shape(row: dict) -> str:
    """Tell of a match of flights_v_shape.sql."""
    top, low, back = row["top_hour"], row["low_hour"], row["back_hour"]
    return (
        f"{_day(top)}: {row['origin']} was {row['top_delay']} min late on average from {top:%H:%M}, "
        f"{row['low_delay']} from {low:%H:%M}, {row['back_delay']} from {back:%H:%M}"
    )


def gone_quiet(row: dict) -> str:
    """Tell of a match of flights_gone_quiet.sql."""
    return (
        f"{_day(row['departed'])}: {row['tailnum']} left {row['origin']} for {row['dest']} at {row['departed']:%H:%M}, "
        f"{row['delay']} min late, and then not again for two days"
    )


def _day(when: datetime) -> str:
    return f"{when:%b} {when.day}"
