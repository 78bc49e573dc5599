"""Spark's daemon of Python workers, with what their tasks need already there: each of them would load it for itself.

Spark runs this module as it runs `pyspark.daemon`, with the name of the module of its workers.
"""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

_NEEDED = (
    "pandas",
    "pyarrow.compute",
    "cepsql.spark.sources.arrow_scan",
    "cepsql.spark.staging.bounds",
    "cepsql.spark.stages.match",
    "cepsql.spark.staging.spark_stage",
    "cepsql.spark.stages.window_aggregate",
    "cepsql.spark.building.dataflow",
    "cepsql.spark.building.finished_rows",
    "cepsql.operators.changing.changing_groups",
    "cepsql.operators.pairing.table_join",
    "pyspark.worker",
    # Where Spark's states are updated, it is loaded.
    "pyspark.testing.utils",
)
_ARCHIVES = ("pyspark", "python", "lib")


def run() -> None:
    """Load what tasks need, and be the daemon until Spark ends it."""
    sys.path[:] = archives_last(sys.path)
    if sys.flags.safe_path and (folder := os.getcwd()) not in sys.path:
        # What functions of the user's import may lie where Spark was started; nothing there hides what is Python's own.
        sys.path.append(folder)
    for name in _NEEDED:
        import_module(name)
    # What is loaded stays in memory that all workers share, as long as no collection of garbage writes to it.
    gc.collect()
    gc.freeze()
    import_module("pyspark.daemon").manager()


def archives_last(paths: list[str]) -> list[str]:
    """Return where modules are looked for, with Spark's archives of them behind the folder where it is installed.

    Python makes code of the sources in an archive at each start, which takes half a second. Where the archives are not
    of a pyspark that is installed, as on a cluster, all stays as it is.
    """
    archives = [path for path in paths if Path(path).suffix == ".zip" and Path(path).parts[-4:-1] == _ARCHIVES]
    installed = {str(Path(path).parents[3]) for path in archives} & set(paths)
    return [path for path in paths if path not in archives] + archives if installed else paths


if __name__ == "__main__":
    run()
