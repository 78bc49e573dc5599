"""What Hadoop, whose classes Spark reads and writes files with, does with less effort for each file and each task."""

import os

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from cepsql.spark.jvm.hadoop_settings import hadoop_configuration
from cepsql.spark.jvm.launching.java_classes import load_own, own_package
from cepsql.spark.jvm.spark_plan import jvm

_CLASS = "LocalFiles"
_SOURCE = """
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
  }

  public static class Raw extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission mode) throws IOException {
      if (mode.getStickyBit()) {
        super.setPermission(path, mode);
      } else {
        Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(mode.toString()));
      }
    }
  }
}
"""
_FILES = "file:///"
_FILES_CLASS = "fs.file.impl"


def quicken_hadoop(spark: SparkSession) -> None:
    """Spare a new session, in which nothing of a user's runs yet, work of Hadoop's that nobody asked for.

    Whatever hinders it, Hadoop does as it always does.
    """
    try:
        if os.name == "posix":
            _set_modes_in_java(spark)
        _forget_files_of_settings(spark)
    except (Py4JError, OSError, TypeError):
        # A class that is not there is a package to py4j, which cannot be called.
        return


def _set_modes_in_java(spark: SparkSession) -> None:
    """Let the driver set the modes of the local files and folders that it makes without running `chmod` for each.

    Hadoop runs it where its native library is missing, which does not come with pyspark. It takes some 5 ms, and a
    micro-batch makes ten files and more.
    """
    java = jvm(spark)
    configuration = hadoop_configuration(spark)
    if configuration.get(_FILES_CLASS):
        return
    package = own_package(spark, "files", _SOURCE)
    load_own(spark, package, _CLASS, _SOURCE)
    settings = java.org.apache.hadoop.conf.Configuration(configuration)
    settings.set(_FILES_CLASS, f"{package}.{_CLASS}")
    files = java.java.net.URI(_FILES)
    # Hadoop keeps the file system of the first who asks, for all that ask later, whatever their settings say.
    java.org.apache.hadoop.fs.FileSystem.get(files, configuration).close()
    java.org.apache.hadoop.fs.FileSystem.get(files, settings)


def _forget_files_of_settings(spark: SparkSession) -> None:
    """Forget which file each of Hadoop's thousand settings came from.

    Else Spark sends it with every task and every state, each name compressed by itself: a tenth of a small micro-batch.
    """
    java = jvm(spark)
    settings = hadoop_configuration(spark)
    # With the first file system come the settings of all kinds of them, and all settings are read once more.
    java.org.apache.hadoop.fs.FileSystem.get(java.java.net.URI(_FILES), settings)
    field = settings.getClass().getDeclaredField("updatingResource")
    field.setAccessible(True)
    field.set(settings, java.java.util.concurrent.ConcurrentHashMap())
