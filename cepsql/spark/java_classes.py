"""Java classes of cepsql's own, compiled in Spark's JVM, for they have to fit the version of Spark that runs."""

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cepsql.spark.java import cache_folder
from cepsql.spark.spark_plan import jvm


def own_package(spark: SparkSession, name: str, source: str) -> str:
    """Return the Java package of the classes of a source, another one for each version of it and of Spark."""
    return f"cepsql.{name}{hashlib.sha256((spark.version + source).encode()).hexdigest()[:12]}"


def own_jar(spark: SparkSession, package: str, source: str) -> Path:
    """Return a jar with the classes of a source in a package, compiled unless the user's cache has it.

    source: one file of Java without its line that names the package, as Janino reads it: casts where Java infers.
    Raises Py4JError if it cannot be compiled, OSError if there is nowhere to keep it.
    """
    jar = cache_folder() / f"{package}.jar"
    if not jar.exists():
        _write_jar(jar, _compiled(jvm(spark), f"package {package};{source}"))
    return jar


def _compiled(java: Any, source: str) -> dict[str, bytes]:
    """Return the code of each class, by its path."""
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(java.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    codes = compiler.getBytecodes()
    return {f"{name.replace('.', '/')}.class": bytes(codes[name]) for name in codes}


def _write_jar(path: Path, codes: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file, zipfile.ZipFile(file, "w") as archive:
        for name, code in codes.items():
            archive.writestr(name, code)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
