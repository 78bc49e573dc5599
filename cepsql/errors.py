"""The exceptions of cepsql (PEP 249 names) and the one place that renders them with a caret."""

import contextlib
import difflib
import enum
import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar, overload

from cepsql.base.secrets import without_secret_options
from cepsql.base.usual_errors import usual_error

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


@dataclass(frozen=True)
class Span:
    """A stretch of a statement's text: character offsets, `end` exclusive."""

    start: int
    end: int


class Error(Exception):
    """Any error of cepsql.

    message: what is wrong, one sentence without the position.
    span:    where in `text`, or None.
    hint:    what to do about it, or None.
    text:    the SQL text that `span` points into, or None until known.
    detail:  a longer technical account (a Java stack trace, say), shown only on request.
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        text: str | None = None,
        detail: str | None = None,
    ):
        super().__init__(message)
        self.message, self.span, self.hint, self.text, self.detail = message, span, hint, text, detail

    @property
    def line(self) -> int | None:
        """1-based line of the position, None if there is none."""
        return self._place()[0]

    @property
    def column(self) -> int | None:
        """1-based column of the position, None if there is none."""
        return self._place()[1]

    @property
    def anchor(self) -> str:
        """Where docs/errors.md explains it: the part of an address after `#`.

        >>> ProgrammingError("there is no stream, table or view x").anchor, ProgrammingError("a typo").anchor
        ('there-is-no-stream-table-or-view', 'programmingerror')
        """
        if usual := usual_error(type(self), self.message):
            return usual.anchor
        return next(kind.__name__.lower() for kind in type(self).__mro__ if kind.__module__ == __name__)

    def _place(self) -> tuple[int, int] | tuple[None, None]:
        if self.span is None or self.text is None:
            return None, None
        before = self.text[: self.span.start]
        return before.count("\n") + 1, self.span.start - (before.rfind("\n") + 1) + 1

    def __str__(self) -> str:
        return render(self)

    def _repr_html_(self) -> str:
        """Show it in a notebook, with the caret below its place."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def __reduce__(self):
        return type(self), (self.message, self.span, self.hint, self.text, self.detail)


class InterfaceError(Error):
    """The API or the command line was used wrongly."""


class DatabaseError(Error):
    """The parent of everything that concerns statements, data and the engine."""


class DataError(DatabaseError):
    """A value cannot be processed."""


class OperationalError(DatabaseError):
    """Something outside of the statement failed: Java, Spark, files, servers."""


class SessionError(OperationalError):
    """Spark cannot be started."""


class WorkerError(OperationalError):
    """Spark's Python workers cannot run cepsql."""


class JavaEndedError(OperationalError):
    """The Java process in which Spark runs has ended by itself."""


class InternalError(DatabaseError):
    """A defect of cepsql."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: syntax, names, types."""


class NotSupportedError(DatabaseError):
    """The statement is right, but cepsql does not support it, or not on a stream."""


class UncheckedError(NotSupportedError):
    """`cepsql check` cannot judge a statement, because only Spark knows the columns that it reads."""


class ExitCode(enum.IntEnum):
    """Exit codes of the command line."""

    OK = 0
    QUERY = 1
    USAGE = 2
    SESSION = 3
    INTERRUPT = 130


@overload
def answer(ask: Callable[[], T]) -> T | Error: ...


@overload
def answer(ask: Callable[[], T], refusal: type[E]) -> T | E: ...


def answer(ask: Callable[[], T], refusal: type[Exception] = Error) -> T | Exception:
    """Return the answer to a question, or why it is refused: for who then asks otherwise.

    >>> answer(lambda: 1)
    1
    """
    try:
        return ask()
    except refusal as error:
        return error.with_traceback(None)


def granted(answered: T | Error) -> T:
    """Return what a question gave; raises why it was refused."""
    if isinstance(answered, Error):
        raise answered.with_traceback(None)
    return answered


@contextlib.contextmanager
def in_text(text: str | Callable[[], str]) -> Iterator[None]:
    """Let errors without a text point into this one; into the text of a view where that is part of it.

    text: a function gives a text that grows meanwhile.
    """
    try:
        yield
    except Error as error:
        whole = text if isinstance(text, str) else text()
        if error.text in (None, whole):
            _point_into(error, whole)
        raise


@contextlib.contextmanager
def at_place(span: Span | None) -> Iterator[None]:
    """Let errors without a place point to this one."""
    try:
        yield
    except Error as error:
        error.span = error.span or span
        raise


def with_view_text(text: str, view: str, sql: str) -> str:
    """Return a text with that of a view at its end, so that one span says where in either of them something stands."""
    return f"{text}\n\0{view}\0{sql}"


def _point_into(error: Error, text: str) -> None:
    """Let an error point into the part of a text that its span begins in, and name the view whose text that is."""
    views = list(_VIEW.finditer(text))
    starts, ends = [0, *(view.end() for view in views)], [*(view.start() for view in views), len(text)]
    number = sum(error.span is not None and error.span.start >= start for start in starts[1:])
    start, end = starts[number], ends[number]
    error.text = text[start:end]
    if error.span is not None:
        error.span = Span(error.span.start - start, min(error.span.end, end) - start)
    if number:
        error.message = f"in view {views[number - 1][1]}: {error.message}"


def render(error: Error, width: int | None = None) -> str:
    """Write an error for people: message, source line, caret, hint.

    width: of the screen; of a line that is longer only what is around the place is shown. None: lines are shown whole.

    >>> print(render(ProgrammingError("no column x", Span(7, 8), "columns: a, b", "SELECT x")))
    no column x
      line 1: SELECT x
                     ^
      hint: columns: a, b
    """
    lines = [escaped(error.message)]
    if error.line is not None and error.column is not None and error.span is not None and error.text is not None:
        # What moves the cursor would put the caret elsewhere.
        source = _CONTROLS.sub(" ", without_secret_options(error.text).split("\n")[error.line - 1].rstrip("\r"))
        begin = error.column - 1
        marked = max(1, min(error.span.end - error.span.start, len(source) - begin))
        label = f"  line {error.line}: "
        if width is not None:
            source, begin = _cropped(source, begin, max(_LEAST, width - len(label)))
            marked = max(1, min(marked, len(source) - begin))
        # Tabs are copied so that the caret stays under the token.
        pad = "\t".join(" " * _cells(part) for part in source[:begin].split("\t"))
        lines += [f"{label}{source}", " " * len(label) + pad + "^" * max(1, _cells(source[begin : begin + marked]))]
    if error.hint:
        lines.append(f"  hint: {escaped(error.hint)}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Escape control characters except line ends and tabs, so that data in messages can't control a terminal.

    >>> escaped("the value '\\x1b[2J' is no\\tnumber")
    "the value '\\\\x1b[2J' is no\\tnumber"
    """
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


_VIEW = re.compile("\n\0([^\0]*)\0")
"""What stands before the text of a view in a text that `with_view_text` made."""

_LEAST, _MORE = 20, "..."
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Also halves of characters, which no stream takes."""


def _cells(text: str) -> int:
    """Return how many terminal cells a text without control characters takes; a tab counts as one.

    >>> _cells("a b"), _cells("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text.replace("\t", " "))
    return len(text) if width < 0 else width


def _cropped(line: str, place: int, room: int) -> tuple[str, int]:
    """Return as much of a line around a place as there is room for, and where the place is in it.

    >>> _cropped("SELECT a, b, c, d, e, f FROM t WHERE x > 1", 37, 20)
    ('...ROM t WHERE x > 1', 15)
    """
    if _cells(line) <= room:
        return line, place
    room = room * len(line) // max(len(line), _cells(line))
    begin = max(0, min(place - room // 2, len(line) - room)) if place > room // 2 else 0
    before, after = (_MORE if begin else ""), (_MORE if begin + room < len(line) else "")
    shown = line[begin + len(before) : begin + room - len(after)]
    return before + shown + after, place - begin


def suggestion(name: str, names: Iterable[str], what: str = "known") -> str:
    """Return the hint for an unknown name: the nearest known name, then the list of all.

    >>> suggestion("prise", ["price", "qty"], "columns")
    'did you mean price? columns: price, qty'
    """
    names = list(names)
    near = difflib.get_close_matches(name.lower(), [k.lower() for k in names], 1)
    listed = f"{what}: {', '.join(names) if names else 'none'}"
    if not near:
        return listed
    return f"did you mean {next(k for k in names if k.lower() == near[0])}? {listed}"
