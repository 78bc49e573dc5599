"""An operator over streams with all that makes a DataFrame of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepsql.ordered.fused import Fused
from cepsql.ordered.operator import Operator
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import ChangeOperator, Ordered
from cepsql.spark.checkpoint.begin import begin_packets
from cepsql.spark.frames.buckets import Buckets
from cepsql.spark.staging.bounds import BOUND, unpack_bounded
from cepsql.spark.staging.spark_stage import Feed, StageOptions, run_stage, stage_rows
from cepsql.spark.staging.stage_rows import StageRows
from cepsql.spark.staging.task_folders import NO_FOLDERS, TaskFolders


@dataclass(frozen=True)
class Staged:
    """An operator, its inputs, and what Spark does with the rows that it gives out.

    identity: of the query; a state that was written under another one is refused.
    schema:   of the rows that the operator gives out.
    output:   the columns in the end as Spark SQL with their names, each of one row.
    hold:     how many microseconds the event time of its rows may lie behind the bound at which they come out; None: it
              has no event time.
    gathered: makes rows that `output` reads of those of a micro-batch, where that takes several; it is given the names
              of further columns to be kept, whose values mark rows that stand for themselves.
    lateness: as of `cepsql.ordered.stage.Stage`.
    begins:   whether the operator gives out a row before any row came.
    is_begun: whether a packet comes to it with the first micro-batch anyway.
    endless:  as of `cepsql.ordered.stage.Stage`.
    nodes:    the operators of the plan that share the stage, in the order in which rows go through them.
    """

    operator: Operator
    feeds: Sequence[Feed]
    identity: str
    schema: StructType
    output: tuple[str, ...]
    hold: int | None
    gathered: Callable[[DataFrame, list[str]], DataFrame] | None = None
    lateness: int | None = None
    nodes: tuple[Ordered, ...] = ()
    begins: bool = False
    is_begun: bool = False
    endless: bool = False

    def options(self, control: str | None, buckets: Buckets | None, folders: TaskFolders) -> StageOptions:
        """Return how the stage runs; arguments as of `run_staged`."""
        needed = self.begins and not self.is_begun
        begin = begin_packets(self.feeds[0].frame.sparkSession, control) if needed else None
        return StageOptions(buckets, self.lateness, folders, self.begins, begin, self.endless)

    @property
    def layout(self) -> RowLayout:
        """Of the rows that the last operator reads."""
        last = self.operator.second if isinstance(self.operator, Fused) else self.operator
        return last.sides[0]


def run_staged(
    staged: Staged,
    observation: str,
    buckets: Buckets | None,
    folders: TaskFolders = NO_FOLDERS,
    control: str | None = None,
) -> DataFrame:
    """Return what an operator makes of its inputs, as `spark_stage.run_stage` does.

    observation: name under which each batch's progress shows the counts of `spark_stage.run_stage`.
    buckets:     how keys are spread, the same for the life of a checkpoint; default `session_buckets`.
    folders:     what tasks write into.
    control: the control folder of the query's checkpoint, if it has one.
    Raises what Spark says of columns.
    """
    options = staged.options(control, buckets, folders)
    return run_stage(staged.operator, staged.feeds, staged.identity, observation, options)


def given_rows(staged: Staged, stage: DataFrame | None, node: ChangeOperator | None = None) -> StageRows:
    """Return the rows that an operator gives out; `stage` and `node` as of `StageRows`."""
    return StageRows(stage, staged.schema, staged.output, staged.hold or 0, node=node)


def staged_rows(staged: Staged, stage: DataFrame, markers: bool) -> DataFrame:
    """Return the rows of an operator, as soon as they are decided.

    stage:   its `bound` and `output`.
    markers: rows of `cepsql.spark.staging.bounds.BOUND`, and nothing else, come between them, if they have an event
             time.
    """
    marks = [BOUND] if markers and staged.hold is not None else []
    rows = unpack_bounded(stage, staged.schema, staged.hold or 0) if marks else stage_rows(stage, staged.schema)
    if staged.gathered is not None:
        rows = staged.gathered(rows, marks)
    return rows.selectExpr(*staged.output, *marks)
