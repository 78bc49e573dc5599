"""Which operators share a stage, where the second reads the first one's output without Spark, or a task."""

from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from sqlglot import exp

from cepsql.analysis.sql.canonical import digest
from cepsql.errors import OperationalError
from cepsql.ordered.fused import Fused
from cepsql.plan.tree.nodes import Node, Ordered, Sql
from cepsql.readers.scan.between import RowsBetween
from cepsql.readers.scan.projection import Projection
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import plain_table, projection
from cepsql.scalar.expressions import Input
from cepsql.spark.checkpoint.checkpoint import Checkpoint
from cepsql.spark.staging.stage_rows import arrow_session, given_columns, has_types, selected
from cepsql.spark.staging.staged import Staged


@dataclass
class Sharing:
    """Which operators of a query run in the stage of the operator below, numbered in the order of building.

    begun:  those of the checkpoint that the query resumes from, which stay; None: all that can.
    shared: those of this query.
    begun_tasks, shared_tasks: the same for inputs of operators over changes whose operator runs in their task
           (`cepsql.spark.building.dataflow`), numbered in the order of building.
    one_control: whether one source of the control folder serves all operators of a task; else each has its own.
    one_scan: whether inputs of a task over one source of files are read together; else each reads the files.
    """

    begun: frozenset[int] | None = None
    shared: set[int] = field(default_factory=set)
    begun_tasks: frozenset[int] | None = frozenset()
    shared_tasks: set[int] = field(default_factory=set)
    one_control: bool = True
    one_scan: bool = True
    _numbers: dict[int, int] = field(default_factory=dict)
    _inputs: int = 0

    @classmethod
    def of_checkpoint(cls, checkpoint: Checkpoint, tasks: frozenset[int] | None) -> "Sharing":
        """Return the sharing of a query that runs over a checkpoint; `tasks`: its `begun_tasks`."""
        one_control, one_scan = checkpoint.one_control, checkpoint.one_scan
        return cls(checkpoint.shared, begun_tasks=tasks, one_control=one_control, one_scan=one_scan)

    @property
    def tasks(self) -> bool:
        """Whether operators may run in one task."""
        return self.begun_tasks is None or bool(self.begun_tasks)

    def in_task(self, can: bool) -> bool:
        """Tell whether the operator below the next input runs in the task of the one above; `can`: whether it could.

        Raises OperationalError if it did when the checkpoint was begun, and can't now.
        """
        number, self._inputs = self._inputs, self._inputs + 1
        return _shares(number, can, self.begun_tasks, self.shared_tasks, "task")

    def staged(self, spark: SparkSession, node: Ordered, first: Staged | None, alone: Staged) -> Staged:
        """Return an operator, together with the operator below it if they share a stage.

        Raises OperationalError if they did when the checkpoint was begun, and can't now.
        """
        number = self._numbers.setdefault(id(node), len(self._numbers))
        wanted = self.begun is None or number in self.begun
        together = None if first is None or not wanted else _in_one_stage(spark, node, first, alone)
        _shares(number, together is not None, self.begun, self.shared, "stage")
        return together or alone


def _shares(number: int, can: bool, begun: frozenset[int] | None, sharing: set[int], shared: str) -> bool:
    """Tell whether the operator of this number shares a stage or a task; if so, add it to `sharing`.

    can:    whether it could.
    begun:  those that do in the checkpoint that the query resumes from, None: all that can.
    shared: stage or task.
    Raises OperationalError if it did when the checkpoint was begun, and can't now.
    """
    wanted = begun is None or number in begun
    if wanted and can:
        sharing.add(number)
    elif wanted and begun is not None:
        raise OperationalError(
            f"the checkpoint was begun with operators in one {shared} that this session cannot run there",
            hint="use the settings of Spark and the version of cepsql that began it, or a new checkpoint",
        )
    return wanted and can


def neighbour(node: Ordered) -> Ordered | None:
    """Return the only operator that an operator reads, through plain SQL; None if there is no such operator."""
    if len(node.inputs) != 1:
        return None
    below: Node = node.inputs[0]
    while isinstance(below, Sql) and len(below.inputs) == 1:
        (below,) = below.inputs.values()
    return below if isinstance(below, Ordered) and below.hosts else None


def _in_one_stage(spark: SparkSession, node: Ordered, first: Staged, second: Staged) -> Staged | None:
    """Return an operator together with its `neighbour`; None if they can't share a stage.

    They can if rows with equal keys for the second have equal keys for the first, and Arrow computes all SQL between
    them as Spark does.
    """
    below = neighbour(node)
    unlike = any(staged.operator.hold is None and staged.lateness is not None for staged in (first, second))
    session = arrow_session(spark)
    if first.gathered is not None or first.hold is None or unlike or session is None:
        return None
    try:
        input_columns = given_columns(first.schema, first.output, session)
        where, columns = selected(_queries(node.inputs[0]), input_columns, session)
        rows = projection(second.layout, where, columns, session)
    except Unlike:
        return None
    if not _has_keys(rows, first) or not has_types(rows, second.layout, second.feeds[0].frame):
        return None
    return Staged(
        Fused(first.operator, second.operator, RowsBetween(rows), first.hold, below is not None and below.keeps_order),
        first.feeds,
        digest([first.identity, second.identity]),
        second.schema,
        second.output,
        None if second.hold is None else first.hold + second.hold,
        second.gathered,
        first.lateness,
        nodes=(*first.nodes, *second.nodes),
    )


def _queries(node: Node) -> list[exp.Query]:
    """Return the queries between the operators, the lowest first; raises Unlike if one of them is not plain."""
    queries = []
    while isinstance(node, Sql):
        plain_table(node.query)
        queries.append(node.query)
        (node,) = node.inputs.values()
    return queries[::-1]


def _has_keys(rows: Projection, first: Staged) -> bool:
    """Tell whether all keys of the first operator are among the second's."""
    layout, keys = first.layout, set(rows.keys.values())
    passed = {node.leaf for node in keys if isinstance(node, Input)}
    if not layout.keys:
        return not keys
    same = [{key.name, *(value.name for value in layout.values if value.sql == key.sql)} for key in layout.keys]
    return all(names & passed for names in same)
