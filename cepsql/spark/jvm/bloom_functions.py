"""Bloom filters in Spark SQL: Spark has the aggregate for its own joins, but no name for it.

Relies on: `_jsparkSession.sessionState().functionRegistry()` and `udf().register` take functions of Java's classes.
"""

import weakref

from pyspark.sql import SparkSession

from cepsql.language.rewriting.bloom_filters import AGGREGATE, MEMBER
from cepsql.spark.jvm.hadoop_settings import hadoop_configuration
from cepsql.spark.jvm.launching.java_classes import ship_own
from cepsql.spark.jvm.spark_plan import jvm

_CLASS = "BloomFilters"
_SOURCE = """
import java.io.ByteArrayInputStream;
import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate;
import org.apache.spark.util.sketch.BloomFilter;

public class BloomFilters extends scala.runtime.AbstractFunction1 {
  public Object apply(Object given) {
    scala.collection.Seq of = (scala.collection.Seq) given;
    return new BloomFilterAggregate((Expression) of.apply(0), (Expression) of.apply(1), (Expression) of.apply(2));
  }

  public static class Member implements UDF2 {
    private transient byte[] last;
    private transient BloomFilter filter;

    public Object call(Object bytes, Object hash) throws Exception {
      if (bytes == null || hash == null) return null;
      byte[] now = (byte[]) bytes;
      if (filter == null || (now != last && !Arrays.equals(now, last))) {
        filter = BloomFilter.readFrom(new ByteArrayInputStream(now));
        last = now;
      }
      return Boolean.valueOf(filter.mightContainLong(((Long) hash).longValue()));
    }
  }
}
"""


def add_bloom_functions(spark: SparkSession, text: str) -> None:
    """Let the SQL of a session make filters and ask them, if a statement does."""
    if (MEMBER not in text and AGGREGATE not in text.upper()) or spark in _ADDED:
        return
    package = ship_own(spark, "bloom", _CLASS, _SOURCE)
    loader = hadoop_configuration(spark).getClassLoader()
    builder, member = (loader.loadClass(f"{package}.{name}").newInstance() for name in (_CLASS, f"{_CLASS}$Member"))
    registry = spark._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(AGGREGATE.lower(), builder, "java_udf")
    boolean = jvm(spark).org.apache.spark.sql.types.DataTypes.BooleanType
    spark._jsparkSession.udf().register(MEMBER, member, boolean)
    _ADDED.add(spark)


_ADDED: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()
