"""How Spark writes its own files of a checkpoint on an object store: each whole, and those of its logs once.

Spark's own ways rename files that it has begun, which an object store does by looking, copying and removing: two owners
of a checkpoint could both write what a batch is. Here an object is put as a whole, and one that must not be there yet
is put on that condition. The class is compiled in Spark's JVM, for it has to fit the version of Spark that runs.
"""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepsql.errors import OperationalError
from cepsql.spark.jvm.launching.java_classes import ship_own
from cepsql.spark.jvm.lent_settings import CHECKPOINT_WRITER, checkpoint_writers

_CLASS = "ObjectStoreWriter"
_SOURCE = """
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import SPARK.CheckpointFileManager;
import SPARK.FileSystemBasedCheckpointFileManager;

public class ObjectStoreWriter extends FileSystemBasedCheckpointFileManager {
  public ObjectStoreWriter(Path path, Configuration configuration) {
    super(path, configuration);
  }

  public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    try {
      FSDataOutputStreamBuilder builder = fs().createFile(path).overwrite(overwrite).recursive();
      if (!overwrite) {
        builder.must("fs.option.create.conditional.overwrite", "true");
      }
      return new Whole((FSDataOutputStream) builder.build(), path);
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  public static class Whole extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final FSDataOutputStream begun;
    private final Path path;

    public Whole(FSDataOutputStream begun, Path path) {
      super(begun);
      this.begun = begun;
      this.path = path;
    }

    public void cancel() {
      begun.abort();
    }

    public void close() throws IOException {
      try {
        super.close();
      } catch (IOException error) {
        if (error.getClass().getSimpleName().equals("RemoteFileChangedException")) {
          throw new FileAlreadyExistsException(path + " was written by another process");
        }
        throw error;
      }
    }
  }
}
"""


def object_store_settings(spark: SparkSession) -> dict[str, str]:
    """Return what makes Spark write a checkpoint on an object store; raises OperationalError if nothing does."""
    package = checkpoint_writers(spark)
    if package is None:
        raise OperationalError("this version of Spark cannot be taught to write checkpoints on object stores")
    return {CHECKPOINT_WRITER: object_store_writer(spark, package)}


def object_store_writer(spark: SparkSession, package: str) -> str:
    """Return the name of the class, which this session's driver and executors can load from now on.

    package: of the classes of Spark's that write checkpoints. Raises OperationalError if it cannot be made.
    """
    source = _SOURCE.replace("SPARK", package)
    try:
        own = ship_own(spark, "checkpoint", _CLASS, source)
    except (Py4JError, PySparkException, OSError) as error:
        said = str(error).partition("\n")[0]
        raise OperationalError(f"Spark cannot be taught to write checkpoints on object stores: {said}") from error
    return f"{own}.{_CLASS}"
