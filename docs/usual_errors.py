"""Errors that are met often: a part of the message, its cause, and its cure; docs/errors.md lists them by kind."""

USUAL_ERRORS = {
    "ProgrammingError": (
        ("exists already", "the name is taken", "`CREATE OR REPLACE`, or another name"),
        (
            "there is no stream, table or view",
            "the name is not in this catalog",
            "`SHOW STREAMS`; `--catalog` names the catalog that has it",
        ),
    ),
    "NotSupportedError": (
        (
            "needs a window of event time",
            "`GROUP BY` over a stream would never end",
            "[group by a window](windows.md#windows-of-event-time-group-by-window), or end the query in `EMIT CHANGES`",
        ),
        (
            "rows would be kept for ever",
            "a join of streams does not bound the time between its rows",
            "[add a bound](joins.md#two-streams) in both directions to `ON`",
        ),
        (
            "needs to know how late they come out",
            "a pattern without `WITHIN` is read by a window, a join or another pattern",
            "add `WITHIN`",
        ),
        (
            "the anchor $ in a pattern over a stream",
            "a stream has no last row",
            "`WITHIN`, or a row that says that it ended",
        ),
        (
            "cannot be evaluated on values of several rows in DEFINE",
            "the function has no form inside the matcher",
            "[a function of this list](patterns.md#functions-in-conditions), or compute the value in a subquery before",
        ),
        (
            "a table that changes, is not supported",
            "the operator reads events that stay as they are",
            "[a stream without `PRIMARY KEY`](tables.md#what-cannot-be-asked) has each change as a row",
        ),
        ("over a stream is not supported", "the result is never final on a stream", "the hint names another way"),
    ),
    "OperationalError": (
        (
            "which does not exist",
            "the path of a stream or table is wrong, or its disk is not mounted",
            "`SHOW CREATE STREAM name` shows the path",
        ),
        (
            "belongs to a different query",
            "the text means something else than the one that began the checkpoint",
            "[replace the query](standing.md#replacing-a-query), or use another folder",
        ),
        (
            "needs the option checkpoint",
            "the catalog is in a database, so no folder is beside it",
            "`ALTER QUERY name SET (checkpoint '/a/folder')`",
        ),
        ("is in use by", "another process runs with the checkpoint", "stop it; the message names it"),
        (
            "was taken over by another process",
            "this process hung, and another one continued the query",
            "nothing; it continues there",
        ),
        (
            "is an older copy",
            "the checkpoint was put back, and the sink has later batches",
            "[go back to a savepoint](backup.md#restore)",
        ),
        ("lacks the record of what query", "the sink was moved or removed, or its disk is not mounted", "put it back"),
        (
            "is in the format of another version of cepsql",
            "cepsql was upgraded or set back",
            "[start over](upgrading.md#what-may-be-refused)",
        ),
        (
            "no Kafka broker answers at",
            "the brokers are down, or their address is wrong",
            "look at `kafka.bootstrap.servers`",
        ),
        (
            "are gone from Kafka",
            "the topic kept its records for a shorter time than the query stood still",
            "[`failOnDataLoss 'false'`](sources.md#order-and-each-record-once) continues without them",
        ),
        ("refuses a row", "a value does not fit the table", "change the table, or the query"),
        (
            "steps from one row",
            "a condition lets a pattern match in too many ways",
            "[make conditions exclude each other](patterns.md#how-long-a-search-may-take)",
        ),
    ),
    "SessionError": (
        ("or later and none was found", "there is no Java", "`pip install 'cepsql[java]'`"),
        ("Spark did not start", "Java or a setting is wrong", "`--errverbose` shows what Spark wrote"),
        (
            "Spark runs already in this process",
            "an engine asks for settings that are fixed when Spark starts",
            "give them to the first engine of the process",
        ),
    ),
    "JavaEndedError": (
        (
            "Java, in which Spark runs, has ended",
            "Java ran out of memory, or was killed",
            "`--conf spark.driver.memory=4g`",
        ),
    ),
    "DataError": (
        ("is beyond the range of", "a number or time has no place in its type", "a wider type; `try_cast` gives NULL"),
        (
            "has no type in Python",
            "a date or time outside the years 1 to 9999",
            "`CAST` it to `STRING`, or take `arrow()`",
        ),
    ),
}
"""By kind."""
