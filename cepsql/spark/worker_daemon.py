"""Spark's daemon of Python workers, with what their tasks need already there: each of them would load it for itself.

Spark runs this module as it runs `pyspark.daemon`, with the name of the module of its workers.
"""

import gc

import pandas  # noqa: F401
import pyarrow.compute  # noqa: F401
from pyspark import daemon

import cepsql.spark.arrow_scan
import cepsql.spark.bounds
import cepsql.spark.match
import cepsql.spark.stage
import cepsql.spark.window_groups  # noqa: F401

if __name__ == "__main__":
    # What is loaded stays in memory that all workers share, as long as no collection of garbage writes to it.
    gc.collect()
    gc.freeze()
    daemon.manager()
