"""Errors that are met often, each with its cause and what to do; docs/errors.md lists them by kind."""

import re
from typing import NamedTuple


class UsualError(NamedTuple):
    """What a kind of message means."""

    said: str
    """A part of the message."""
    cause: str
    cure: str
    """What to do: Markdown, whose links are relative to docs/."""

    @property
    def anchor(self) -> str:
        """Its place in docs/errors.md.

        >>> UsualError("Spark did not start", "", "").anchor
        'spark-did-not-start'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.said.lower()).strip("-")


USUAL_ERRORS: dict[str, tuple[UsualError, ...]] = {
    "ProgrammingError": (
        UsualError("exists already", "the name is taken", "`CREATE OR REPLACE`, or another name"),
        UsualError(
            "there is no stream, table or view",
            "the name is not in this catalog",
            "`SHOW STREAMS`; `--catalog` names the catalog that has it",
        ),
    ),
    "NotSupportedError": (
        UsualError(
            "needs a window of event time",
            "`GROUP BY` over a stream would never end",
            "[group by a window](windows.md#windows-of-event-time-group-by-window), or end the query in `EMIT CHANGES`",
        ),
        UsualError(
            "rows would be kept for ever",
            "a join of streams does not bound the time between its rows",
            "[add a bound](joins.md#two-streams) in both directions to `ON`, or end the query in `EMIT CHANGES`",
        ),
        UsualError(
            "needs to know how late they come out",
            "a pattern without `WITHIN` is read by a window, a join or another pattern",
            "add `WITHIN`",
        ),
        UsualError(
            "the anchor $ in a pattern over a stream",
            "a stream has no last row",
            "`WITHIN`, or a row that says that it ended",
        ),
        UsualError(
            "cannot be evaluated on values of several rows in DEFINE",
            "the function has no form inside the matcher",
            "[a function of this list](functions.md#in-conditions-on-several-rows), or compute it in a subquery before",
        ),
        UsualError(
            "a table that changes, is not supported",
            "the operator reads events that stay as they are",
            "[a stream without `PRIMARY KEY`](tables.md#what-cannot-be-asked) has each change as a row",
        ),
        UsualError(
            "over a stream is not supported", "the result is never final on a stream", "the hint names another way"
        ),
    ),
    "OperationalError": (
        UsualError(
            "which does not exist",
            "the path of a stream or table is wrong, or its disk is not mounted",
            "`SHOW CREATE STREAM name` shows the path",
        ),
        UsualError(
            "belongs to a different query",
            "the checkpoint was begun with a query of another meaning",
            "[replace the query](standing.md#replacing-a-query), or use another folder",
        ),
        UsualError(
            "needs the option checkpoint",
            "the catalog is in a database, so no folder is beside it",
            "`ALTER QUERY name SET (checkpoint '/a/folder')`",
        ),
        UsualError("is in use by", "another process runs with the checkpoint", "stop it; the message names it"),
        UsualError(
            "was taken over by another process",
            "this process hung, and another one continued the query",
            "nothing; it continues there",
        ),
        UsualError(
            "is an older copy",
            "the checkpoint was put back, and the sink has later batches",
            "[go back to a savepoint](backup.md#restore)",
        ),
        UsualError(
            "lacks the record of what query", "the sink was moved or removed, or its disk is not mounted", "put it back"
        ),
        UsualError(
            "which is not mounted",
            "the disk of a sink, checkpoint or folder is away, or not mounted yet: `/etc/fstab` lists its mount point",
            "mount it",
        ),
        UsualError(
            "is in the format of another version of cepsql",
            "cepsql was upgraded or set back",
            "[start over](upgrading.md#what-may-be-refused)",
        ),
        UsualError(
            "no Kafka broker answers at",
            "the brokers are down, or their address is wrong",
            "look at `kafka.bootstrap.servers`",
        ),
        UsualError(
            "are gone from Kafka",
            "the topic dropped records while the query was stopped",
            "[`failOnDataLoss 'false'`](sources.md#order-and-each-record-once) continues without them",
        ),
        UsualError("refuses a row", "a value does not fit the table", "change the table, or the query"),
        UsualError(
            "steps from one row",
            "a condition lets a pattern match in too many ways",
            "[make conditions exclude each other](patterns.md#how-long-a-search-may-take)",
        ),
    ),
    "SessionError": (
        UsualError("or later and none was found", "there is no Java", "`pip install 'cepsql[java]'`"),
        UsualError("Spark did not start", "Java or a setting is wrong", "`--errverbose` shows what Spark wrote"),
        UsualError(
            "Spark runs already in this process",
            "an engine asks for settings that are fixed when Spark starts",
            "give them to the first engine of the process",
        ),
    ),
    "JavaEndedError": (
        UsualError(
            "Spark's Java process has ended",
            "Java ran out of memory, or was killed",
            "`--conf spark.driver.memory=4g`",
        ),
    ),
    "DataError": (
        UsualError(
            "is beyond the range of", "a number or time has no place in its type", "a wider type; `try_cast` gives NULL"
        ),
        UsualError(
            "has no type in Python",
            "a date or time outside the years 1 to 9999",
            "`CAST` it to `STRING`, or take `arrow()`",
        ),
    ),
}
"""By the name of the exception."""


def usual_error(kind: type, message: str) -> UsualError | None:
    """Return what is known of a message of an exception of this kind, or None."""
    usual = [error for each in kind.__mro__ for error in USUAL_ERRORS.get(each.__name__, ())]
    return next((error for error in usual if error.said in message), None)
