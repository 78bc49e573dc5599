"""Check the lines that Spark reads from text files: none is too long, and no JSON follows the end of an object.

Spark's readers hold a whole line in memory, however long it is, and Jackson stops at the end of an object. A class that
is compiled in Spark's JVM checks lines between the file and Spark. Spark gets as many bytes as the file has, so it
splits files as usual: a line that is too long becomes a mark and blank lines, and a line of JSON with more text after
its value begins with a character that no JSON has.
"""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepsql.catalog import Source
from cepsql.readers.scan.long_lines import LONG_LINE, max_line_bytes
from cepsql.spark.jvm.hadoop_settings import hadoop_configuration
from cepsql.spark.jvm.launching.java_classes import ship_own

BLANK = "\u0001"
"""The character of the blank lines that replace a line of a text file that is too long."""

OPENERS = "\u0001\u0002", "{["
"""The first characters of JSON lines with more text after their value: those for Spark, and those in the file."""

_FORMATS = {"csv", "json", "text"}
_WHOLE = {"multiline", "wholetext"}
_WIDE = ("utf-16", "utf16", "utf-32", "utf32", "ucs")
_CLASS = "CheckedLines"
_CODECS = {
    "Gzip": "GzipCodec",
    "Bzip2": "BZip2Codec",
    "Deflate": "DeflateCodec",
    "Plain": "DefaultCodec",
    "Lz4": "Lz4Codec",
    "Snappy": "SnappyCodec",
    "Zstandard": "ZStandardCodec",
}
_SOURCE = """
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.util.ReflectionUtils;

public class CheckedLines extends FilterFileSystem {
  private static FileSystem unchecked;
  private Configuration configuration;

  private static synchronized FileSystem local(URI name, Configuration conf) throws IOException {
    if (unchecked == null) {
      Configuration plain = new Configuration(conf);
      plain.setBoolean("fs.file.impl.disable.cache", false);
      String implementation = conf.get("cepsql.lines.files", "");
      if (implementation.isEmpty()) {
        plain.unset("fs.file.impl");
      } else {
        plain.set("fs.file.impl", implementation);
      }
      unchecked = FileSystem.get(name, plain);
    }
    return unchecked;
  }

  public void initialize(URI name, Configuration conf) throws IOException {
    configuration = conf;
    fs = local(name, conf);
    super.initialize(name, conf);
  }

  public String getScheme() {
    return fs.getScheme();
  }

  public void close() {
    // What it stands before is everybody's.
  }

  public FSDataInputStream open(Path path, int size) throws IOException {
    FSDataInputStream in = fs.open(path, size);
    if (new CompressionCodecFactory(configuration).getCodec(path) != null) {
      return in;
    }
    return new FSDataInputStream(new Lines(in, configuration));
  }

  public FutureDataInputStreamBuilder openFile(Path path) throws IOException {
    return createDataInputStreamBuilder(this, path);
  }

  protected CompletableFuture openFileWithOptions(Path path, OpenFileParameters parameters) throws IOException {
    return CompletableFuture.completedFuture(open(path, parameters.getBufferSize()));
  }

  public static class Lines extends FSInputStream {
    private static final int CHUNK = 1 << 16;
    private final InputStream in;
    private final byte[] mark;
    private final int longest, end;
    private final byte blank, feed;
    private final boolean json;
    private byte[] buffer = new byte[2 * CHUNK];
    private int begin, ready, filled;
    private long position;
    private boolean ended, behind;

    public Lines(InputStream in, Configuration conf) {
      this.in = in;
      this.mark = conf.get("cepsql.lines.mark").getBytes();
      this.longest = conf.getInt("cepsql.lines.longest", Integer.MAX_VALUE);
      this.json = conf.getBoolean("cepsql.lines.json", false);
      this.end = conf.getInt("cepsql.lines.end", -1);
      this.feed = (byte) (end < 0 ? 10 : end);
      this.blank = (byte) conf.getInt("cepsql.lines.blank", 32);
    }

    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 255;
    }

    public int read(byte[] into, int offset, int size) throws IOException {
      if (size == 0) {
        return 0;
      }
      while (begin == ready) {
        if (ended) {
          return -1;
        }
        fill();
      }
      int count = Math.min(size, ready - begin);
      System.arraycopy(buffer, begin, into, offset, count);
      begin += count;
      position += count;
      return count;
    }

    private void fill() throws IOException {
      System.arraycopy(buffer, begin, buffer, 0, filled - begin);
      filled -= begin;
      begin = 0;
      ready = 0;
      if (buffer.length - filled < CHUNK) {
        buffer = Arrays.copyOf(buffer, (int) Math.min(2L * buffer.length, (long) longest + 2 * CHUNK));
      }
      int from = filled, line = 0;
      int read = in.read(buffer, filled, Math.min(CHUNK, buffer.length - filled));
      if (read < 0) {
        ended = true;
        check(0, filled);
        ready = filled;
        return;
      }
      filled += read;
      if (behind) {
        int stop = 0;
        while (stop < filled && !ends(buffer[stop])) {
          stop++;
        }
        clear(0, stop);
        if (stop == filled) {
          ready = filled;
          return;
        }
        behind = false;
        line = stop + 1;
        from = line;
      }
      if (!json && filled - line <= longest) {
        // No line can be too long here: only where the last one begins must be known.
        int at = filled;
        while (at > from && !ends(buffer[at - 1])) {
          at--;
        }
        line = at > from ? at : line;
      } else {
        for (int at = from; at < filled; at++) {
          if (ends(buffer[at])) {
            check(line, at);
            line = at + 1;
          }
        }
      }
      if (filled - line > longest) {
        replace(line, filled);
        behind = true;
        line = filled;
      }
      ready = line;
    }

    private boolean ends(byte octet) {
      return end < 0 ? octet == 10 || octet == 13 : octet == end;
    }

    private void check(int from, int to) {
      if (to - from > longest) {
        replace(from, to);
      } else if (json) {
        int opener = followed(from, to);
        if (opener >= 0) {
          buffer[opener] = (byte) (buffer[opener] == '{' ? 1 : 2);
        }
      }
    }

    private void replace(int from, int to) {
      System.arraycopy(mark, 0, buffer, from, mark.length);
      for (int at = from + mark.length; at < to; at += CHUNK) {
        clear(at, Math.min(to, at + CHUNK));
      }
    }

    private void clear(int from, int to) {
      Arrays.fill(buffer, from, to, blank);
      // An empty line would be a row of a text file, so no line feed stands at the end.
      if (to - from > 1) {
        buffer[from] = feed;
      }
    }

    private int followed(int from, int to) {
      int first = from;
      if (to - from > 2 && buffer[from] == -17 && buffer[from + 1] == -69 && buffer[from + 2] == -65) {
        first += 3;
      }
      while (first < to && space(buffer[first])) {
        first++;
      }
      // A zero tells of another encoding.
      if (to - first < 2 || buffer[first + 1] == 0 || (buffer[first] != '{' && buffer[first] != '[')) {
        return -1;
      }
      int depth = 0;
      byte quote = 0;
      for (int at = first; at < to; at++) {
        byte octet = buffer[at];
        if (quote != 0) {
          if (octet == 92) {
            at++;
          } else if (octet == quote) {
            quote = 0;
          }
        } else if (octet == 34 || octet == 39) {
          quote = octet;
        } else if (octet == '{' || octet == '[') {
          depth++;
        } else if (octet == '}' || octet == ']') {
          depth--;
          if (depth == 0) {
            for (int rest = at + 1; rest < to; rest++) {
              if (!space(buffer[rest])) {
                return first;
              }
            }
            return -1;
          }
        }
      }
      return -1;
    }

    private static boolean space(byte octet) {
      return octet == 32 || octet == 9 || octet == 10 || octet == 13;
    }

    public void seek(long place) throws IOException {
      ((Seekable) in).seek(place);
      begin = 0;
      ready = 0;
      filled = 0;
      position = place;
      ended = false;
      behind = false;
    }

    public long getPos() {
      return position;
    }

    public boolean seekToNewSource(long place) {
      return false;
    }

    public int available() {
      return ready - begin;
    }

    public void close() throws IOException {
      in.close();
    }
  }

  public static class Inflated extends CompressionInputStream {
    private final Lines lines;

    public Inflated(CompressionInputStream in, Configuration conf) throws IOException {
      super(in);
      lines = new Lines(in, conf);
    }

    public int read() throws IOException {
      return lines.read();
    }

    public int read(byte[] into, int offset, int size) throws IOException {
      return lines.read(into, offset, size);
    }

    public void resetState() throws IOException {
      throw new IOException("what was read cannot be read again");
    }
  }

  public static class Codec implements CompressionCodec, Configurable {
    private final String name;
    private CompressionCodec codec;
    private Configuration conf;

    public Codec(String name) {
      this.name = name;
    }

    public void setConf(Configuration conf) {
      this.conf = conf;
      try {
        codec = (CompressionCodec) ReflectionUtils.newInstance(
            conf.getClassByName("org.apache.hadoop.io.compress." + name), conf);
      } catch (ClassNotFoundException error) {
        throw new IllegalStateException(error);
      }
    }

    public Configuration getConf() {
      return conf;
    }

    public CompressionInputStream createInputStream(InputStream in) throws IOException {
      return new Inflated(codec.createInputStream(in), conf);
    }

    public CompressionInputStream createInputStream(InputStream in, Decompressor decompressor) throws IOException {
      return new Inflated(codec.createInputStream(in, decompressor), conf);
    }

    public CompressionOutputStream createOutputStream(OutputStream out) throws IOException {
      return codec.createOutputStream(out);
    }

    public CompressionOutputStream createOutputStream(OutputStream out, Compressor compressor) throws IOException {
      return codec.createOutputStream(out, compressor);
    }

    public Class getCompressorType() {
      return codec.getCompressorType();
    }

    public Compressor createCompressor() {
      return codec.createCompressor();
    }

    public Class getDecompressorType() {
      return codec.getDecompressorType();
    }

    public Decompressor createDecompressor() {
      return codec.createDecompressor();
    }

    public String getDefaultExtension() {
      return codec.getDefaultExtension();
    }
  }
CODECS
}
"""
_CODEC = """
  public static class NAME extends Codec {
    public NAME() {
      super("CODEC");
    }
  }
"""
_FILES, _COMPRESSED = "fs.file.impl", "io.compression.codecs"


def checks_lines(source: Source) -> bool:
    """Tell whether lines of a source are checked: not if rows may span lines, or characters take several bytes."""
    options = {name.lower(): value.lower() for name, value in source.options}
    whole = any(options.get(name, "false") != "false" for name in _WHOLE)
    encoding = options.get("encoding", options.get("charset", "utf-8"))
    separator = options.get("linesep", "\n")
    plain = len(separator) == 1 and separator.isascii()
    return source.format.lower() in _FORMATS and plain and not whole and not encoding.startswith(_WIDE)


def checked_options(spark: SparkSession, source: Source) -> dict[str, str]:
    """Return the further options that a Spark reader needs to check the lines of a source.

    Lines of uncompressed files are checked on this machine's file systems only, those of compressed files anywhere.
    In a session without a local JVM nothing is checked. Raises ProgrammingError if maxLineBytes is not a number.
    """
    longest = max_line_bytes(source.options)
    if not checks_lines(source):
        return {}
    try:
        codecs = (_CODEC.replace("NAME", name).replace("CODEC", codec) for name, codec in _CODECS.items())
        java = _SOURCE.replace("CODECS", "".join(codecs))
        package = ship_own(spark, "lines", _CLASS, java)
        hadoop = hadoop_configuration(spark)
        files, codec_classes = hadoop.get(_FILES) or "", hadoop.get(_COMPRESSED)
    except (Py4JError, PySparkException, OSError, TypeError, AttributeError):
        return {}
    options = {name.lower(): value for name, value in source.options}
    comments = options.get("allowcomments", "false").lower() != "false"
    own = ",".join(f"{package}.{_CLASS}${name}" for name in _CODECS)
    return {
        _FILES: f"{package}.{_CLASS}",
        f"{_FILES}.disable.cache": "true",
        _COMPRESSED: f"{codec_classes},{own}" if codec_classes else own,
        "cepsql.lines.files": files,
        "cepsql.lines.mark": LONG_LINE,
        "cepsql.lines.longest": str(longest),
        "cepsql.lines.json": str(source.format.lower() == "json" and source.value is None and not comments).lower(),
        "cepsql.lines.end": str(ord(options["linesep"])) if "linesep" in options else "-1",
        "cepsql.lines.blank": str(ord(BLANK if source.format.lower() == "text" else " ")),
    }
