"""Which operators share a stage, where the second one's rows are made of the first one's without Spark, or a task."""

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
from cepsql.spark.staging.stage_rows import arrow_session, given_columns, has_types, selected
from cepsql.spark.staging.staged import Staged


@dataclass
class Sharing:
    """Which operators of a query run in the stage of the one below, by number in the order in which they are built.

    begun: those of the checkpoint that the query goes on from, which stay; None: all do that can.
    found: those that do.
    begun_tasks, found_tasks: the same of inputs of operators over changes whose operator runs in their task
           (`cepsql.spark.building.dataflow`), by number in the order in which they are built.
    one_control: whether one source of the control folder tells all operators of a task; else each has its own.
    one_scan: whether all inputs of a task over one source of files are read together; else each reads the files.
    """

    begun: frozenset[int] | None = None
    found: set[int] = field(default_factory=set)
    begun_tasks: frozenset[int] | None = frozenset()
    found_tasks: set[int] = field(default_factory=set)
    one_control: bool = True
    one_scan: bool = True
    _numbers: dict[int, int] = field(default_factory=dict)
    _inputs: int = 0

    @property
    def tasks(self) -> bool:
        """Whether any operators run in one task."""
        return self.begun_tasks is None or bool(self.begun_tasks)

    def in_task(self, can: bool) -> bool:
        """Tell whether the operator below the next input runs in the task of the one above; `can`: whether it could.

        Raises OperationalError where it did when the checkpoint was begun, and cannot now.
        """
        number, self._inputs = self._inputs, self._inputs + 1
        return _shares(number, can, self.begun_tasks, self.found_tasks, "task")

    def staged(self, spark: SparkSession, node: Ordered, first: Staged | None, alone: Staged) -> Staged:
        """Return an operator, together with the one below it, if there is one, where they share a stage.

        Raises OperationalError where they did when the checkpoint was begun, and cannot now.
        """
        number = self._numbers.setdefault(id(node), len(self._numbers))
        wanted = self.begun is None or number in self.begun
        together = None if first is None or not wanted else _in_one_stage(spark, node, first, alone)
        _shares(number, together is not None, self.begun, self.found, "stage")
        return together or alone


def _shares(number: int, can: bool, begun: frozenset[int] | None, found: set[int], shared: str) -> bool:
    """Tell whether an operator of this number shares a stage or a task, and add it to those found that do.

    can, begun: whether it could, and which do in the checkpoint that the query goes on from, None: all that can.
    Raises OperationalError where it did when the checkpoint was begun, and cannot now.
    """
    wanted = begun is None or number in begun
    if wanted and can:
        found.add(number)
    elif wanted and begun is not None:
        raise OperationalError(
            f"the checkpoint was begun with operators in one {shared} that this session cannot run there",
            hint="use the settings of Spark and the version of cepsql that began it, or a new checkpoint",
        )
    return wanted and can


def neighbour(node: Ordered) -> Ordered | None:
    """Return the operator whose rows alone an operator reads, through plain SQL; None if there is none of the kind."""
    if len(node.inputs) != 1:
        return None
    below: Node = node.inputs[0]
    while isinstance(below, Sql) and len(below.inputs) == 1:
        (below,) = below.inputs.values()
    return below if isinstance(below, Ordered) and below.hosts else None


def _in_one_stage(spark: SparkSession, node: Ordered, first: Staged, second: Staged) -> Staged | None:
    """Return an operator together with its `neighbour`; None if they cannot share a stage.

    They do where rows with equal keys for the second have equal keys for the first, and Arrow computes, as Spark does,
    all that stands between them.
    """
    below = neighbour(node)
    unlike = any(staged.operator.hold is None and staged.lateness is not None for staged in (first, second))
    session = arrow_session(spark)
    if first.gathered is not None or first.hold is None or unlike or session is None:
        return None
    try:
        given = given_columns(first.schema, first.output, session)
        where, columns = selected(_queries(node.inputs[0]), given, session)
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
    """Return the queries between the operators, the lowest first; raises Unlike where one of them is not plain."""
    found = []
    while isinstance(node, Sql):
        plain_table(node.query)
        found.append(node.query)
        (node,) = node.inputs.values()
    return found[::-1]


def _has_keys(rows: Projection, first: Staged) -> bool:
    """Tell whether all keys of the first operator are among the second's."""
    layout, keys = first.layout, set(rows.keys.values())
    passed = {node.leaf for node in keys if isinstance(node, Input)}
    if not layout.keys:
        return not keys
    same = [{key.name, *(value.name for value in layout.values if value.sql == key.sql)} for key in layout.keys]
    return all(names & passed for names in same)
