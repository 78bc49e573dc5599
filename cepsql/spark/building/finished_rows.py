"""The rows of a query over an operator, computed with Arrow in the tasks that read the stage's output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.language.tokens import quoted
from cepsql.plan.tree.markers import BOUND
from cepsql.readers.scan.between import projected_rows
from cepsql.readers.scan.layout import is_read
from cepsql.readers.scan.projection import Projection
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import Columns
from cepsql.scalar.expressions import Session
from cepsql.scalar.types import STRING, parse_type
from cepsql.spark.building.labelled_frames import label
from cepsql.spark.frames.task_files import written_or_given
from cepsql.spark.frames.worker import settle
from cepsql.spark.staging.stage_rows import StageRows, arrow_session, given_columns, outputs, selected

_COLUMN = "c"
"""The prefix of the temporary names of columns, before their numbers."""


@dataclass(frozen=True)
class _Finish:
    """Computes the rows of a query from an operator's output; picklable.

    changes: computes the changes that are labelled with their operation; None: the rows are not changes.
    rows:    computes the rows from the changes or from the operator's output.
    writer:  as in `cepsql.spark.frames.task_files.written_or_given`.
    """

    changes: Projection | None
    rows: Projection
    writer: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        tables: Iterator[pa.Table] = (table for batch in batches for table in outputs(batch))
        if self.changes is not None:
            tables = map(_table, label(projected_rows(self.changes, table) for table in tables))
        made = (projected_rows(self.rows, rows) for rows in tables)
        filled = (rows for rows in made if rows.num_rows)
        return written_or_given(self.writer, filled, len(self.rows.values), self.rows.session.zone)


def finished_rows(rows: StageRows, frame: DataFrame, writer: str | None) -> DataFrame | None:
    """Return the rows of a query, None if only Spark can compute them from the stage's output.

    frame:  the rows as Spark computes them.
    writer: the sink whose tasks may write them, or None.
    """
    session = arrow_session(frame.sparkSession)
    fields = frame.schema.fields
    if session is None:
        return None
    try:
        changes, made = _projections(rows, session)
    except Unlike:
        return None
    types = [parse_type(field.dataType.simpleString()) for field in fields]
    if [name for name, _ in made.values] != [field.name.lower() for field in fields]:
        return None
    if [node.type for _, node in made.values] != types:
        return None
    ddl = ", ".join(f"{_COLUMN}{i} {field.dataType.simpleString()}" for i, field in enumerate(fields))
    finish = _Finish(changes, made, writer)
    assert rows.stage is not None
    finished = rows.stage.mapInArrow(finish, ddl)
    return finished.selectExpr(*(f"{_COLUMN}{i} AS {quoted(field.name)}" for i, field in enumerate(fields)))


def _projections(rows: StageRows, session: Session) -> tuple[Projection | None, Projection]:
    """Return the projections to changes without label, if there are changes, and to rows; raises Unlike."""
    columns = given_columns(rows.schema, rows.output, session)
    if rows.labelled is None:
        return None, _projection(rows.above, columns, session)
    changes = _projection(rows.above[: rows.labelled], columns, session)
    change_columns = Columns()
    for name, node in changes.values:
        if name not in (IDENTITY, CHANGE):
            change_columns.carry(name, node.type, name)
    change_columns.carry(OPERATION, STRING, OPERATION)
    return changes, _projection(rows.above[rows.labelled :], change_columns, session)


def _projection(queries: Sequence[exp.Query], input_columns: Columns, session: Session) -> Projection:
    where, columns = selected(queries, input_columns, session)
    values = [(name, columns[name]) for name in columns if name != BOUND]
    refused = next((name for name, node in values if not is_read(node.type)), None)
    if refused is not None:
        raise Unlike(f"{refused} of type {str(dict(values)[refused].type).upper()}")
    return Projection(session, where, tuple(values), ())


def _table(rows: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([rows])
