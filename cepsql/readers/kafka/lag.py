"""How far a query is behind the end of its topics, from the offsets that Spark reports."""

import json


def records_behind(end: str | None, latest: str | None) -> int | None:
    """Return how many records were after the end of a micro-batch when it was planned.

    end, latest: offsets as JSON, from either Kafka reader. Returns None for offsets of other sources.

    >>> records_behind('{"start": {}, "next": {"t": {"0": 7, "1": 2}}}', '{"next": {"t": {"0": 9, "1": 2, "2": 1}}}')
    3
    >>> records_behind('{"t": {"0": 7}}', '{"t": {"0": 8}}')
    1
    """
    reached, there = _positions(end), _positions(latest)
    if reached is None or there is None:
        return None
    return sum(
        max(0, last - reached.get(topic, {}).get(partition, 0))
        for topic, ends in there.items()
        for partition, last in ends.items()
    )


def _positions(text: str | None) -> dict[str, dict[str, int]] | None:
    try:
        offsets = json.loads(text or "null")
    except ValueError:
        return None
    offsets = offsets.get("next", offsets) if isinstance(offsets, dict) else None
    if not isinstance(offsets, dict) or not all(isinstance(ends, dict) for ends in offsets.values()):
        return None
    whole = all(isinstance(offset, int) for ends in offsets.values() for offset in ends.values())
    return offsets if whole and offsets else None
