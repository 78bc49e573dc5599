"""A number of the driver's that tasks read as a column, and other columns of Catalyst's expressions.

Relies on: a sequence of Scala's is a function of an index, and travels with each task as it is when the task is made;
`SparkUserDefinedFunction.apply`, `ExpressionUtils.column`, and `pyspark.sql.classic.column.Column` over their columns.
"""

from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from cepsql.spark.jvm.spark_plan import jvm


class SharedNumber:
    """A BIGINT, 0 at first, that is the same in all tasks that are made until it is set again: `column`."""

    def __init__(self, spark: SparkSession, name: str):
        """Make it; `name`: how plans write it."""
        java, gateway = jvm(spark), spark.sparkContext._gateway
        assert gateway is not None
        self._value = gateway.new_array(java.long, 1)
        sequence = getattr(java.scala.collection.mutable, "ArraySeq$ofLong")(self._value)
        functions = getattr(getattr(java.org.apache.spark.sql.expressions, "SparkUserDefinedFunction$"), "MODULE$")
        kind = java.org.apache.spark.sql.types.DataType.fromDDL("BIGINT")
        function = functions.apply(sequence, kind, 1).asNondeterministic().withName(name)
        index: Any = F.lit(0)
        self.column: Column = ClassicColumn(function.apply(java.PythonUtils.toSeq([index._jc])))

    def set(self, number: int) -> None:
        """Let the tasks that are made from now on read this number."""
        self._value[0] = number


def expression_column(spark: SparkSession, expression: Any) -> Column:
    """Return an expression of Catalyst's as a column."""
    return ClassicColumn(jvm(spark).org.apache.spark.sql.classic.ExpressionUtils.column(expression))
