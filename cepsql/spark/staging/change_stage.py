"""The stage of an operator over tables that change, whose rows are changes with IDENTITY and CHANGE."""

from collections.abc import Sequence

from pyspark.sql.types import ByteType, StringType, StructField, StructType

from cepsql.analysis.sql.canonical import digest
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.operators.changing import change_rows
from cepsql.operators.changing.changing_groups import EVER
from cepsql.ordered.operator import Operator
from cepsql.plan.tree.nodes import ChangeOperator
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.stage_rows import CHANGE as STAGE_CHANGE
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of what is kept for tables; to be raised when the columns that travel change."""


def change_stage(
    node: ChangeOperator,
    operator: Operator,
    feeds: Sequence[Feed],
    fields: Sequence[StructField],
    named: Sequence[str],
    more: object = None,
) -> Staged:
    """Return what gives changes, with IDENTITY and CHANGE.

    fields: the columns that the operator gives out beside these.
    named:  the columns in the end as Spark SQL with their names.
    more:   decides what is kept, beside the node.
    """
    identity = digest([STATE_VERSION, node.describe(), more])[:16]
    hidden = [StructField(change_rows.IDENTITY, StringType()), StructField(STAGE_CHANGE, ByteType())]
    schema = StructType([*(StructField(field.name, field.dataType) for field in fields), *hidden])
    output = (*named, f"{change_rows.IDENTITY} AS {IDENTITY}", f"{STAGE_CHANGE} AS {CHANGE}")
    # Whatever row it gives out, later ones may be of any time.
    hold = 0 if node.markers else None
    endless = node.markers or node.expires is not None
    return Staged(operator, feeds, identity, schema, output, hold, lateness=EVER, endless=endless)
