"""How the DataFrame of a plan is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from cepsql.pattern.program import MatchProgram
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import SPARK_SCAN
from cepsql.spark.checkpoint.host_files import HostFiles
from cepsql.spark.frames.buckets import Buckets
from cepsql.spark.staging.task_folders import NO_FOLDERS, TaskFolders

EXPIRED_ROWS = 100_000
"""How many rows leave an operator in one micro-batch because their time is over, unless a setting says otherwise."""


@dataclass(frozen=True)
class FrameOptions:
    """What a DataFrame depends on besides its plan.

    control:   folder through which the input of a match over a stream can be ended.
    replaced:  DataFrames that stand in for sources of these names (tests feed streams so).
    scan:      who reads the files below a match over a stream: ARROW_SCAN or SPARK_SCAN.
    buckets:   how the keys of a match over a stream are spread; default `session_buckets`.
    files:     those that the query's checkpoint keeps of tables. None: tables with REFRESH EVERY are read as they are
               now, and streams without their history.
    sharing:   which operators share a stage; default: those that can. It is told which do.
    writer:    whose tasks may write the rows; see `cepsql.spark.frames.task_files`.
    by_spark:  the same plan as Spark reads it, if it has been built: a plan without operators is not built again for
               its types only.
    folders:   what the tasks of a running query write into.
    observed:  is given, by the name of each stage's observation, the names of the operators in the stage.
    limits:    gives a program the limits of its search.
    expired:   how many rows leave each operator in a micro-batch because their time is over; None: EXPIRED_ROWS.
    write_late: whether late rows are written where their streams say.
    positions: groups of all rows so far, which need no event time, tell how far in it their streams are all the same.
    ends_at_once: the first micro-batch has all input, and its end, and no other one follows.
    """

    control: str | None = None
    replaced: Mapping[str, DataFrame] = field(default_factory=dict)
    scan: str = SPARK_SCAN
    buckets: Buckets | None = None
    files: HostFiles | None = None
    sharing: Sharing | None = None
    writer: str | None = None
    by_spark: DataFrame | None = None
    folders: TaskFolders = NO_FOLDERS
    observed: dict[str, tuple[str, ...]] | None = None
    limits: Callable[[MatchProgram], MatchProgram] = lambda program: program
    expired: int | None = None
    write_late: bool = True
    positions: bool = False
    ends_at_once: bool = False
