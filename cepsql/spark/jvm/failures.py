"""Turn exceptions of pyspark, py4j and Spark's Python workers into cepsql's errors, in one clear line."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator

import py4j.protocol
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    ParseException,
    PySparkException,
    SparkRuntimeException,
    StreamingQueryException,
)
from pyspark.errors.exceptions.captured import convert_exception

from cepsql import errors
from cepsql.errors import (
    DataError,
    Error,
    InternalError,
    JavaEndedError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Span,
    WorkerError,
)
from cepsql.secrets import redact
from cepsql.spark.jvm.explanations import Explanation, explanation
from cepsql.spark.jvm.functions import known_function
from cepsql.spark.jvm.gateway import kill_java, last_words, lost_folder, lost_java, spark_stopped
from cepsql.spark.jvm.unread_file import explain_unread

_OWN_ERROR = re.compile(r"^cepsql\.errors\.(\w+): (.*(?:\n  .*)*)", re.MULTILINE)
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.*)", re.MULTILINE)
_HINT = "\n  hint: "
_SUGGESTED = re.compile(r"\.? Did you mean one of the following\? \[(.*)\]$")
_WORKER_HINT = (
    "set the environment variable PYSPARK_PYTHON to the Python in which cepsql is installed before the session starts"
)
_LOST = "a Python worker of Spark's has ended in the middle of its work; often the system kills it for lack of memory"
_LOST_HINT = (
    "fewer tasks at once, as with --master 'local[2]', need less; the system's log (dmesg) tells what it killed"
)
_LATE = re.compile(r"waiting for the Python worker to connect back|Python worker failed to connect back")
_LATE_HINT = "start it again, or let fewer queries and other programs run at once; a server starts it again by itself"
STOPPED = "the Spark session has been stopped"
STOPPED_HINT = "connect(spark) with a session that runs makes another engine"
_OF_A_STOP = re.compile(r"SparkContext|SparkSession|RpcEnv|'NoneType' object has no attribute")
"""What is named where Spark has been stopped under a query, in one way or another."""

_CLOSED = re.compile(r"(?:Stream|Socket) closed|Broken pipe|Connection reset(?: by peer)?|(?:java\.io\.)?EOFException")
_PYTHON_TASK = re.compile(r"^\s*at org\.apache\.spark\.(?:api|sql\.execution)\.(?:[\w.]+\.)?python\.", re.MULTILINE)
_CLOSED_IN = re.compile(
    rf"(?:{_CLOSED.pattern})[^\n]*\n(?:\s*at (?!org\.apache\.spark\.)[^\n]*\n)*(\s*at org\.apache\.spark\.[^\n]*)"
)
"""Where a connection was closed, or a file ended, and who of Spark's was reading."""

_SURROUNDINGS = ("PATH_", "FAILED_READ_FILE", "DATA_SOURCE_NOT_FOUND", "STREAM_FAILED", "CANNOT_LOAD", "INVALID_URL")
_UNSUPPORTED = ("UNSUPPORTED", "STREAMING_OUTPUT_MODE", "NON_TIME_WINDOW", "_LEGACY_ERROR_TEMP_3102")


def translate_failure(exception: BaseException, secrets: Iterable[str] = ()) -> Error:
    """Return the cepsql error that says in one line what an exception of Spark's means.

    An error of cepsql raised in a Python worker or a callback is found again; the Java trace goes to `detail` only.
    Java is ended where it cannot go on, so that it starts anew.
    secrets: values that must not be shown, besides whatever follows a name such as password.
    """
    if isinstance(exception, Error):
        return exception
    if lost_java(exception):
        return _java_ended(_trace(exception))
    if isinstance(exception, py4j.protocol.Py4JJavaError):
        try:
            exception = convert_exception(exception.java_exception)
        except (py4j.protocol.Py4JError, OSError) as lost:
            # The causes are known to Java only; without it, what there is must do.
            if lost_java(lost):
                return _java_ended(str(lost))
    chain = list(_causes(exception))
    texts = [_description(link) for link in chain]
    if lost_folder("\n".join(texts)) is not None:
        kill_java()
        return _java_ended(_trace(exception))
    for text in texts:
        if own := _own_error(text):
            return _redacted(own, _trace(exception), secrets)
    if (meant := _explanation(exception)) is not None:
        return _redacted(meant.kind(meant.message, hint=meant.hint), _trace(exception), secrets)
    if started_late(exception):
        message = "Python did not start within the ten seconds that Spark gives it: this machine is too busy"
        return _redacted(OperationalError(message, hint=_LATE_HINT), _trace(exception), secrets)
    if _lost_worker(texts, _trace(exception)):
        return _redacted(OperationalError(_LOST, hint=_LOST_HINT), _trace(exception), secrets)
    if _OF_A_STOP.search("\n".join(texts)) and spark_stopped():
        return _redacted(OperationalError(STOPPED, hint=STOPPED_HINT), _trace(exception), secrets)
    kind, message = _classify(chain, texts)
    routine = next(filter(None, map(_unknown_routine, chain)), None)
    hint = _WORKER_HINT if kind is WorkerError else routine and known_function(routine)
    if routine is None and not issubclass(kind, WorkerError | InternalError):
        message, hint = explain_unread(texts, message)
        hint = hint or next(filter(None, map(_forms_hint, chain)), None)
    return _redacted(kind(message, hint=hint), _trace(exception), secrets)


def started_late(exception: BaseException) -> bool:
    """Tell whether a Python process that Spark started did not answer in time."""
    return any(_LATE.search(text) for link in _causes(exception) for text in (_description(link), _trace(link)))


def _explanation(exception: BaseException) -> Explanation | None:
    """Return what is said in place of Spark's words, None where these are good enough."""
    for link in _causes(exception):
        if isinstance(link, PySparkException):
            found = explanation(link.getCondition() or "", _description(link))
            if found is not None:
                return found
    return None


@contextlib.contextmanager
def translated_failures(sql: str = "") -> Iterator[None]:
    """Let what Spark raises within the `with` block come out as cepsql's errors.

    sql: the statement that is executed; where it has once what Spark names, the error points there.
    """
    try:
        yield
    except Exception as failure:
        error = placed(translate_failure(failure), failure, sql)
        if error is failure:
            raise
        raise error from failure


def placed(error: Error, failure: BaseException, sql: str, as_written: Callable[[str], str] = str) -> Error:
    """Let an error point at what Spark complained of in `failure`, if the statement has that once; return it.

    as_written: makes of SQL that Spark was given what the statement says.
    """
    cause = failure if isinstance(failure, PySparkException) else failure.__cause__
    if error.span is None and error.text in (None, sql) and isinstance(cause, PySparkException):
        error.span = _place(cause, sql, as_written)
        error.text = sql if error.span else None
        if error.span is not None and (meant := _explanation(cause)) is not None:
            error.message, error.hint = meant.said_at(sql[error.span.start : error.span.end])
        if error.span is not None and (routine := _unknown_routine(cause)) is not None:
            # Spark is given names of functions in capital letters.
            written = re.search(re.escape(routine), sql[error.span.start : error.span.end], re.IGNORECASE)
            error.message = error.message.replace(routine, written[0] if written else routine)
    return error


def _place(exception: PySparkException, sql: str, as_written: Callable[[str], str]) -> Span | None:
    """Return where a text has the piece of SQL, or else the function, that Spark complains of."""
    if (meant := _explanation(exception)) is not None:
        place = re.search(meant.place, sql, re.IGNORECASE)
        return Span(*place.span()) if place else None
    if (unexpected := _syntax_error(exception)) == "end of input":
        end = len(sql.rstrip())
        return Span(end, end + 1)
    patterns = [_any_spelling(as_written(piece)) for piece in refused_pieces(exception)]
    if unexpected is not None:
        patterns.append(re.sub(r"^\b|\b$", r"\\b", re.escape(unexpected)))
    if (function := _unknown_routine(exception) or _refused_function(exception)) is not None:
        patterns.insert(0, rf"\b{re.escape(function)}(?=\s*\()")
    for pattern in patterns:
        found = list(re.finditer(pattern, sql, re.IGNORECASE))
        if len(found) == 1:
            return Span(*found[0].span())
    return None


def refused_pieces(exception: PySparkException) -> list[str]:
    """Return the pieces of SQL that Spark complains of, as it was given them or understands them."""
    given = [context.fragment() for context in exception.getQueryContext()]
    understood = (exception.getMessageParameters() or {}).get("sqlExpr", "").strip('"')
    return [*given, re.sub(r"^\((.*)\)$", r"\1", understood)] if understood else given


def _any_spelling(piece: str) -> str:
    """Return a regular expression for a piece of SQL: spaces, and tables before names, may be there or not.

    >>> re.fullmatch(_any_spelling("(t.a+1)"), "( a + 1 )") is not None
    True
    """
    words = re.findall(r"\w+|\S", re.sub(r"\b[A-Za-z_]\w*\.(?=[\w`])", "", piece))
    return r"\s*".join(r"(?:\b[A-Za-z_]\w*\.)*" * word[0].isalpha() + re.escape(word) for word in words)


def _java_ended(detail: str) -> JavaEndedError:
    if (folder := lost_folder()) is not None:
        return JavaEndedError(
            f"files that Spark needs in its temporary folder {folder} were removed",
            hint="Spark starts again; keep what tidies up temporary files away, or set TMPDIR to another folder",
            detail=detail,
        )
    said = last_words()
    if said is None:
        return JavaEndedError("Spark's Java process has ended", detail=detail)
    hint = "--conf spark.driver.memory=8g gives it more; LIMIT, or rows taken piece by piece, need less"
    return JavaEndedError(f"Spark's Java process has ended: {said}", hint=hint, detail=detail)


def _causes(exception: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes as far as they are known, outermost first."""
    cause: BaseException | None = exception
    while cause is not None:
        yield cause
        cause = getattr(cause, "_cause", None) or cause.__cause__


def _description(exception: BaseException) -> str:
    """Return what an exception says, without a Java trace where that can be told apart."""
    if isinstance(exception, PySparkException):
        return getattr(exception, "_desc", None) or str(exception)
    return str(exception)


def _trace(exception: BaseException) -> str:
    if isinstance(exception, PySparkException):
        return getattr(exception, "_stackTrace", None) or str(exception)
    return str(exception)


def _own_error(text: str) -> Error | None:
    """Return the cepsql error that a Python traceback shows first: the innermost one."""
    found = _OWN_ERROR.search(text)
    kind = getattr(errors, found[1], None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, Error)):
        return None
    message, _, hint = found[2].partition(_HINT)
    return kind(message, hint=hint or None)


def _classify(chain: list[BaseException], texts: list[str]) -> tuple[type[Error], str]:
    """Return the error class and the message of the innermost cause that says something."""
    python = [text for text in texts if "Traceback (most recent call last)" in text]
    if python:
        found = _PYTHON_ERROR.findall(python[-1])
        if missing := next((m for kind, m in found if kind == "ModuleNotFoundError"), None):
            return WorkerError, f"a Python worker of Spark's lacks a package: {missing}"
        return (
            InternalError,
            f"Python code in Spark failed: {': '.join(found[-1]) if found else _first_line(python[-1])}",
        )
    said = [(link, text) for link, text in zip(reversed(chain), reversed(texts), strict=True) if text.strip()]
    # The name of a class alone, which is all that Java says of one that is missing, tells people nothing.
    sentences = [(link, text) for link, text in said if " " in _first_line(text)]
    link, text = next(iter(sentences or said), (chain[0], type(chain[0]).__name__))
    if routine := _unknown_routine(link):
        return ProgrammingError, f"there is no function {routine}"
    return _kind(link, _condition(text), text), _first_line(text)


def _lost_worker(texts: list[str], trace: str) -> bool:
    """Tell whether a task failed because its Python worker, or the daemon of the workers, is gone."""
    if any("Python worker exited unexpectedly" in text for text in (*texts, trace)):
        return True
    said = [line for text in texts if (line := _first_line(text))]
    if not said or not _CLOSED.fullmatch(said[-1]):
        return False
    # A file that is cut short says no more than a connection that is closed: who read it tells them apart.
    readers = [found[1] for found in _CLOSED_IN.finditer(trace)]
    return all(map(_PYTHON_TASK.match, readers)) if readers else bool(_PYTHON_TASK.search(trace))


def _unknown_routine(exception: BaseException) -> str | None:
    """Return the function that Spark does not know, None where it complains of something else."""
    if not isinstance(exception, PySparkException) or exception.getCondition() != "UNRESOLVED_ROUTINE":
        return None
    return (exception.getMessageParameters() or {}).get("routineName", "").replace("`", "") or None


def _forms_hint(exception: BaseException) -> str | None:
    """Return the hint for a call with too few or too many arguments, None for other errors."""
    wrong = isinstance(exception, PySparkException) and (exception.getCondition() or "").startswith("WRONG_NUM_ARGS")
    name = _refused_function(exception) if isinstance(exception, PySparkException) and wrong else None
    return f"SHOW FUNCTIONS LIKE '{name}' shows what it takes" if name else None


def _syntax_error(exception: BaseException) -> str | None:
    """Return what Spark's parser did not expect, None where it complains of something else."""
    if not isinstance(exception, PySparkException) or exception.getCondition() != "PARSE_SYNTAX_ERROR":
        return None
    return (exception.getMessageParameters() or {}).get("error", "").strip("'") or None


def _refused_function(exception: PySparkException) -> str | None:
    """Return the function whose call Spark refuses, if it names one."""
    said = exception.getMessageParameters() or {}
    found = re.match(r"\W*(\w+)", said.get("functionName") or said.get("funcName") or "")
    return found[1] if found else None


def _condition(text: str) -> str:
    """Return the name of Spark's error condition, empty if it has none."""
    found = re.match(r"(?:[\w.$]+: )?\[([A-Z0-9_.]+)\]", text)
    return found[1] if found else ""


def _kind(exception: BaseException, condition: str, text: str) -> type[Error]:
    if condition.startswith(_SURROUNDINGS) or "Failed to find data source" in text:
        return OperationalError
    if condition.startswith(_UNSUPPORTED) or ".UNSUPPORTED" in condition:
        return NotSupportedError
    if isinstance(exception, ParseException | AnalysisException):
        return ProgrammingError
    if isinstance(exception, StreamingQueryException):
        return OperationalError
    if isinstance(exception, ArithmeticException | DateTimeException | NumberFormatException | SparkRuntimeException):
        return DataError
    return OperationalError


def _first_line(text: str) -> str:
    """Return the sentence for people in Spark's text: no condition name, Java class, SQLSTATE or plan.

    >>> _first_line("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03; line 1")
    'Path does not exist: file:/x'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), text)
    line = re.sub(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*: ", "", line)
    line = re.sub(r"^\[[A-Z0-9_.]+\] ", "", line)
    line = re.sub(r"\. Please, refer to '\S+' for a fix", "", line)
    return _with_own_names(re.split(r" SQLSTATE: ", line)[0].rstrip(" .;"))


def _with_own_names(line: str) -> str:
    """Return a sentence of Spark's that suggests no name which no user has given.

    >>> _with_own_names("`b` cannot be resolved. Did you mean one of the following? [`a`, `__corrupt`]")
    '`b` cannot be resolved. Did you mean one of the following? [`a`]'
    """
    found = _SUGGESTED.search(line)
    if found is None:
        return line
    names = [re.sub(r"^`__\w+`\.", "", name) for name in found[1].split(", ")]
    own = [name for name in names if not name.startswith("`__")]
    return line[: found.start()] + (f". Did you mean one of the following? [{', '.join(own)}]" if own else "")


def _redacted(error: Error, detail: str, secrets: Iterable[str]) -> Error:
    secrets = tuple(secrets)
    error.message = redact(error.message, secrets)
    error.hint = error.hint and redact(error.hint, secrets)
    error.detail = redact(detail, secrets)
    return error
