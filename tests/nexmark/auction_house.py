"""The events of Nexmark: people register, put things up for auction, and bid for them.

A folder of events holds `person`, `auction` and `bid`, CSV files in event-time order. Of 50 events in a row one is a
person, three are auctions and the others bids, as in the generators of Apache Beam and of the Nexmark project for Flink
(https://github.com/nexmark/nexmark), whose schemas these are. People and auctions that an event names were there before
it. The generator is seeded, so equal sizes give equal rows on every machine.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

COLUMNS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, "
    "dateTime TIMESTAMP, extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, "
    "expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING",
}
"""The columns of each folder; `dateTime` is the event time."""

_PEOPLE, _AUCTIONS, _GROUP = 1, 3, 50
_FIRST_ID = 1000
_LATEST_PEOPLE, _LATEST_AUCTIONS = 1000, 100
_BEGIN = np.datetime64("2026-01-01T00:00:00", "ms")
_CITIES = np.array(
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent"]
)
_STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple"])


def write_events(folder: Path, events: int, files: int = 4, microseconds: int = 1000, seed: int = 7) -> None:
    """Write so many events, one every so many microseconds, rounded down to whole groups of 50.

    files: how many of each kind, one after another in event time.
    """
    draw = np.random.default_rng(seed)
    groups = np.arange(events // _GROUP)
    _write(folder / "person", _people(draw, groups, microseconds), files)
    _write(folder / "auction", _auctions(draw, groups, microseconds), files)
    _write(folder / "bid", _bids(draw, groups, microseconds), files)


def _people(draw: np.random.Generator, groups: np.ndarray, step: int) -> pa.Table:
    number = len(groups)
    names = _texts("name", draw.integers(0, 500, number))
    return pa.table({
        "id": _FIRST_ID + groups,
        "name": names,
        "emailAddress": _texts("mail", draw.integers(0, 500, number)),
        "creditCard": draw.integers(10**15, 10**16, number).astype(str),
        "city": draw.choice(_CITIES, number),
        "state": draw.choice(_STATES, number),
        "dateTime": _times(groups * _GROUP, step),
        "extra": _texts("p", draw.integers(0, 10**6, number)),
    })  # fmt: skip


def _auctions(draw: np.random.Generator, groups: np.ndarray, step: int) -> pa.Table:
    group = np.repeat(groups, _AUCTIONS)
    number = len(group)
    place = group * _GROUP + _PEOPLE + np.tile(np.arange(_AUCTIONS), len(groups))
    initial = _prices(draw, number)
    return pa.table({
        "id": _FIRST_ID + np.arange(number),
        "itemName": _texts("item", draw.integers(0, 1000, number)),
        "description": _texts("about", draw.integers(0, 10**6, number)),
        "initialBid": initial,
        "reserve": initial + _prices(draw, number),
        "dateTime": _times(place, step),
        "expires": _times(place + draw.integers(500, 5000, number), step),
        "seller": _FIRST_ID + np.maximum(0, group - draw.integers(0, _LATEST_PEOPLE, number)),
        "category": 10 + draw.integers(0, 5, number),
        "extra": _texts("a", draw.integers(0, 10**6, number)),
    })  # fmt: skip


def _bids(draw: np.random.Generator, groups: np.ndarray, step: int) -> pa.Table:
    each = _GROUP - _PEOPLE - _AUCTIONS
    group = np.repeat(groups, each)
    number = len(group)
    place = group * _GROUP + _PEOPLE + _AUCTIONS + np.tile(np.arange(each), len(groups))
    latest = group * _AUCTIONS + _AUCTIONS - 1
    # Half of all bids are for the auction that is hot just then.
    hot = latest - latest % _LATEST_AUCTIONS
    cold = np.maximum(0, latest - draw.integers(0, _LATEST_AUCTIONS, number))
    channel = draw.integers(0, 10_000, number)
    named = draw.random(number) < 0.5
    channels = np.where(named, _CHANNELS[channel % 4], np.char.add("channel-", channel.astype(str)))
    item = np.char.add("https://www.nexmark.com/shop/aisle", (channel % 90).astype(str))
    urls = np.char.add(np.char.add(item, "/item.htm?query=1&channel_id="), channel.astype(str))
    return pa.table({
        "auction": _FIRST_ID + np.where(draw.random(number) < 0.5, hot, cold),
        "bidder": _FIRST_ID + np.maximum(0, group - draw.integers(0, _LATEST_PEOPLE, number)),
        "price": _prices(draw, number),
        "channel": channels,
        "url": np.where(named, item, urls),
        "dateTime": _times(place, step),
        "extra": _texts("b", draw.integers(0, 10**6, number)),
    })  # fmt: skip


def _prices(draw: np.random.Generator, number: int) -> np.ndarray:
    """Return prices in cents, from one to a million dollars, small ones as often as great ones."""
    return np.round(10 ** (draw.random(number) * 6) * 100).astype(np.int64)


def _times(place: np.ndarray, step: int) -> pa.Array:
    micros = place * step + _BEGIN.astype("datetime64[us]").astype(np.int64)
    return pa.array(micros, pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False)


def _texts(prefix: str, numbers: np.ndarray) -> np.ndarray:
    return np.char.add(f"{prefix} ", numbers.astype(str))


def _write(folder: Path, rows: pa.Table, files: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    step = -(-rows.num_rows // files)
    for number in range(files):
        csv.write_csv(
            rows.slice(number * step, step), folder / f"{number:03}.csv", csv.WriteOptions(include_header=False)
        )
