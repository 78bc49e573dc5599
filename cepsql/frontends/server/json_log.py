"""The log of a server: one JSON object a line."""

import datetime
import json
import logging
import threading
from typing import TextIO

from cepsql.base.secrets import redact
from cepsql.catalog.working_for import QUERY


def log_json(stream: TextIO) -> None:
    """Send what cepsql logs to a stream, one JSON object a line; so goes what other packages warn of."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("cepsql")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    threading.excepthook = _log_end


def _log_end(ended: threading.ExceptHookArgs) -> None:
    """Log what ended a thread."""
    name = "" if ended.thread is None else f" {ended.thread.name}"
    failure = ended.exc_value if ended.exc_value is not None else ended.exc_type()
    logging.getLogger("cepsql").error("the thread%s ended: %s", name, failure, exc_info=failure)


class JsonLines(logging.Formatter):
    """Writes each record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record without a line end."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "message": redact(record.getMessage())}
        about = {"query": getattr(record, "query", QUERY.get()), "hint": getattr(record, "hint", None)}
        line |= {name: redact(value) for name, value in about.items() if value is not None}
        detail = self.formatException(record.exc_info) if record.exc_info else getattr(record, "detail", None)
        if detail:
            line["detail"] = redact(detail)
        return json.dumps(line, ensure_ascii=False)
