"""Java classes of cepsql's own, compiled in Spark's JVM, for they have to fit the version of Spark that runs.

Relies on: `_jsc.addJar` hands classes to tasks, and Spark's JVM has a compiler.
"""

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from cepsql.base.private_files import is_private
from cepsql.spark.jvm.hadoop_settings import hadoop_configuration
from cepsql.spark.jvm.launching.java import cache_folder
from cepsql.spark.jvm.spark_plan import jvm


def own_package(spark: SparkSession, name: str, source: str) -> str:
    """Return the Java package of the classes of a source, another one for each version of it and of Spark."""
    return f"cepsql.{name}{hashlib.sha256((spark.version + source).encode()).hexdigest()[:12]}"


def ship_own(spark: SparkSession, name: str, class_name: str, source: str) -> str:
    """Let the driver and the executors find a class of a source; return its package, which `own_package` names.

    Raises what `load_own` raises.
    """
    package, context = own_package(spark, name, source), spark.sparkContext._jsc
    jar = load_own(spark, package, class_name, source)
    if jar.name not in context.sc().listJars().mkString():
        context.addJar(str(jar))
    return package


def load_own(spark: SparkSession, package: str, name: str, source: str) -> Path:
    """Let the driver find a class of a source in a package; return its jar, compiled unless the user's cache has it.

    source: one file of Java without its line that names the package, as Janino reads it: casts where Java infers.
    Raises Py4JError if it cannot be compiled, OSError if there is nowhere to keep it.
    """
    java, jar = jvm(spark), cache_folder() / f"{package}.jar"
    # Hadoop looks here, whatever thread asks it, and remembers for ever what it did not find.
    loader = hadoop_configuration(spark).getClassLoader()
    if not is_private(jar):
        _write_jar(jar, _compiled(java, loader, f"package {package};{source}"))
        if not is_private(jar):
            raise PermissionError(f"others may write to {jar.parent}")
    if not _is_known(loader, f"{package}.{name}"):
        loader.addURL(java.java.net.URI(jar.as_uri()).toURL())
    return jar


def _is_known(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except Py4JJavaError:
        return False
    return True


def _compiled(java: Any, loader: Any, source: str) -> dict[str, bytes]:
    """Return the code of each class, by its path."""
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    codes = compiler.getBytecodes()
    return {f"{name.replace('.', '/')}.class": bytes(codes[name]) for name in codes}


def _write_jar(path: Path, codes: dict[str, bytes]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file, zipfile.ZipFile(file, "w") as archive:
        for name, code in codes.items():
            archive.writestr(name, code)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
