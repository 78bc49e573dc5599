"""Origins of rows from Java, once for each run of rows instead of each row; and row numbers.

Relies on: `sessionState().sqlParser()` parses expressions and types, `StaticInvoke` calls a method of a class for
each row, and `ExpressionUtils.column` makes a column of it.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession

from cepsql.spark.jvm.hadoop_settings import hadoop_configuration
from cepsql.spark.jvm.launching.java_classes import ship_own
from cepsql.spark.jvm.spark_plan import jvm

SEPARATOR = "\n"
"""The separator between the rank, the part and the name of an origin."""

_CLASS = "Origins"
_SOURCE = """
import java.util.HashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;

public class Origins {
  private static final ThreadLocal TASK = new ThreadLocal();
  private static final UTF8String NONE = UTF8String.fromString("");
  private final long attempt;
  private final HashMap runs = new HashMap();
  private int expression = -1;
  private Run run;

  private Origins(long attempt) {
    this.attempt = attempt;
  }

  static class Run {
    long rank, part, rows;
    UTF8String name;

    boolean begins(long rank, long part, UTF8String name) {
      rows++;
      if (this.rank == rank && this.part == part && name.equals(this.name)) {
        return false;
      }
      this.rank = rank;
      this.part = part;
      this.name = name.copy();
      rows = 0;
      return true;
    }
  }

  private static Run run(int expression, TaskContext task) {
    Origins origins = (Origins) TASK.get();
    if (origins == null || origins.attempt != task.taskAttemptId()) {
      origins = new Origins(task.taskAttemptId());
      TASK.set(origins);
    }
    if (origins.expression != expression) {
      origins.expression = expression;
      origins.run = (Run) origins.runs.get(Integer.valueOf(expression));
      if (origins.run == null) {
        origins.run = new Run();
        origins.runs.put(Integer.valueOf(expression), origins.run);
      }
    }
    return origins.run;
  }

  public static UTF8String mark(int expression, long rank, long part, UTF8String name) {
    TaskContext task = TaskContext.get();
    // Rows that the driver computes may come to several tasks.
    if (task != null && !run(expression, task).begins(rank, part, name)) {
      return null;
    }
    return name.numBytes() == 0 ? NONE : UTF8String.fromString(rank + "SEPARATOR" + part + "SEPARATOR" + name);
  }

  public static long number(int expression, long part, UTF8String name) {
    Run run = run(expression, TaskContext.get());
    run.begins(0L, part, name);
    return part + run.rows;
  }
}
""".replace("SEPARATOR", SEPARATOR.encode("unicode_escape").decode())

_expressions = itertools.count(1)
"""Numbers of the expressions that one task may compute; only one of them passes its rows to Python."""


def origin_marks(spark: SparkSession, rank: str, part: str, name: str) -> Column | None:
    """Return a STRING column with the origin of each run of rows in a task, in the run's first row.

    rank, part, name: the SQL of the fields of `cepsql.ordered.arrival.Origin`; without a name there is no origin.
    The text is rank, part and name with SEPARATOR between them, or empty without origin; it is NULL in rows with the
    origin of the row before them. So the rows must go to Python in this order and completely.
    Returns None without access to Java.
    """
    # For NULL, Java might get the value of the row before.
    marks = (f"coalesce({rank}, 0L)", f"coalesce({part}, 0L)", f"coalesce({name}, '')")
    return _called(spark, "mark", "STRING", ("0", *marks))


def row_numbers(spark: SparkSession, part: str, file: str) -> Column | None:
    """Return a BIGINT column over the rows of files as they are read: the number of a row in its part of the file, plus
    the part's begin in bytes. It increases within a file whose rows have at least one byte each.

    part, file: the SQL of the part's begin, and of the file.
    Returns None without access to Java.
    """
    return _called(spark, "number", "BIGINT", (str(next(_expressions)), part, file))


def _called(spark: SparkSession, function: str, kind: str, arguments: Sequence[str]) -> Column | None:
    try:
        java: Any = jvm(spark)
        package = ship_own(spark, "origins", _CLASS, _SOURCE)
        parser = spark._jsparkSession.sessionState().sqlParser()
        called = java.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke(
            hadoop_configuration(spark).getClassLoader().loadClass(f"{package}.{_CLASS}"),
            parser.parseDataType(kind),
            function,
            java.PythonUtils.toSeq([parser.parseExpression(sql) for sql in arguments]),
            java.PythonUtils.toSeq([]),
            False,
            True,
            # It is not the same for equal rows, so nothing may be computed twice or in another place.
            False,
            java.scala.Option.apply(None),
        )
        return Column(java.org.apache.spark.sql.classic.ExpressionUtils.column(called))
    except (Py4JError, PySparkException, OSError, TypeError, AttributeError, AssertionError):
        return None
