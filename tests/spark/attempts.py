"""What Spark gives for expressions, and where it fails: each row by itself."""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepsql.scalar.arrow.column_values import plain_values
from cepsql.spark.frames.arrow_rows import to_arrow


def spark_types(frame, expressions: list[str]) -> list[str]:
    """Return the type of each expression in Spark, and what Spark says where it refuses one."""
    try:
        return [f.dataType.simpleString() for f in frame.select(*map(F.expr, expressions)).schema.fields]
    except AnalysisException as refusal:
        if len(expressions) == 1:
            return [f"refused: {str(refusal)[:80]}"]
    middle = len(expressions) // 2
    return [kind for some in (expressions[:middle], expressions[middle:]) for kind in spark_types(frame, some)]


def spark_values(frame, expressions: list[str]) -> list[list]:
    """Return Spark's values of each expression, "error" in the rows where it ends in one."""
    jvm = frame.sparkSession._jvm.org.apache.spark.sql
    utils, attempt = jvm.classic.ExpressionUtils, jvm.catalyst.expressions.TryEval
    # What several expressions have in common would be computed outside of the attempts.
    frame.sparkSession.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    columns_of_values = []
    for some in (expressions[at : at + 40] for at in range(0, len(expressions), 40)):
        # An attempt that fails is NULL, so its value stands in a struct. In a branch Spark leaves constants alone that
        # fail, and the value may be NULL.
        tested = [F.struct(F.when(F.col("id") >= 0, F.expr(sql))) for sql in some]
        tried = [Column(utils.column(attempt(utils.expression(value._jc)))) for value in tested]
        names = [f"x{i}" for i in range(len(some))]
        columns = [column.alias(name) for column, name in zip(tried, names, strict=True)]
        table = to_arrow(frame.select("id", *columns).orderBy("id"))
        structs = [table[name].combine_chunks() for name in names]
        plain = plain_values(pa.table([pc.struct_field(struct, 0) for struct in structs], names), names)
        for name, struct in zip(names, structs, strict=True):
            valid = struct.is_valid().to_pylist()
            columns_of_values.append([value if ok else "error" for value, ok in zip(plain[name], valid, strict=True)])
    return columns_of_values
