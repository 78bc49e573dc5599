"""The log of a server: one JSON object a line."""

import datetime
import json
import logging
from typing import TextIO

from cepsql.secrets import redact


def log_json(stream: TextIO) -> None:
    """Send what cepsql logs to a stream, one JSON object a line."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLines())
    logger = logging.getLogger("cepsql")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "message": redact(record.getMessage())}
        query = getattr(record, "query", None)
        if query is not None:
            line["query"] = query
        if record.exc_info:
            line["detail"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)
