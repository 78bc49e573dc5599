"""How Java starts for tests and kills, in this process and in those that they start."""

SUBMIT_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC "
    "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
)
"""The value of SPARK_SUBMIT_OPTS.

Tests are many short queries: making code of each (but see tests/spark), the JVM's second compiler and its parallel
collector only cost time. For one compiler the JVM has too little room for code by itself, and compiles anew what it
threw away.
"""
