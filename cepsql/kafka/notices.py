"""What a user should know of a Kafka source before its rows come."""

from cepsql.catalog import Source


def start_notice(source: Source) -> str | None:
    """Say from which records on a stream over Kafka is read, None for other sources and for tables."""
    if source.format.lower() != "kafka" or not source.streaming:
        return None
    options = {name.lower(): value for name, value in source.options}
    topic = options.get("subscribe") or options.get("subscribepattern") or options.get("assign")
    read = f"{source.name} is read from Kafka's {topic}"
    if "startingtimestamp" in options:
        return f"{read} from the records of {options['startingtimestamp']} on"
    start = options.get("startingoffsets", "latest")
    if "startingoffsetsbytimestamp" in options or start.startswith("{"):
        return f"{read} from the {'times' if 'startingoffsetsbytimestamp' in options else 'offsets'} that OPTIONS names"
    if start.lower() == "earliest":
        return f"{read} from the earliest records on"
    return f"{read} from now on; FROM EARLIEST reads what is there, too"
