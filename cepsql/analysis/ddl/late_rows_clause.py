"""The LATE ROWS INTO clause of a stream's definition."""

import re
from urllib.parse import urlparse

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import Error, NotSupportedError, ProgrammingError, answer, suggestion
from cepsql.language.statements import CreateSource, LateRows
from cepsql.ordered.late_file import FORMATS, LATE_COLUMNS

_OPTIONS = ["path", "keep"]
_UNWRITABLE = re.compile(r"\b(interval|variant|void)\b", re.IGNORECASE)
_KEYED_BY_TEXT = re.compile(r"\bmap\s*<\s*(?!string\b|varchar\b|char\b)", re.IGNORECASE)


def defined_late_rows(create: CreateSource) -> Source | None:
    """Return the table that holds the rows of a stream that queries do not use, None if the stream names none.

    Raises ProgrammingError for a missing or unknown option and for names that clash, NotSupportedError for a format,
    folder or type that cannot be written.
    """
    late = create.late_rows
    if late is None:
        return None
    if late.format.text not in FORMATS:
        raise NotSupportedError(
            f"LATE ROWS INTO a table of format {late.format.text} is not supported",
            late.format.span,
            f"formats: {', '.join(FORMATS)}",
        )
    _check_options(late)
    _check_columns(create, late)
    columns = tuple(ColumnDefinition(name, type) for name, type in LATE_COLUMNS)
    columns += tuple(ColumnDefinition(column.name, column.type) for column in create.columns)
    return Source(late.name.text, columns, late.format.text, late.options, False, late_of=create.name.text)


def _check_options(late: LateRows) -> None:
    for name, _ in late.options:
        if name not in _OPTIONS:
            raise ProgrammingError(
                f"LATE ROWS INTO has no option {name}", late.span, suggestion(name, _OPTIONS, "options")
            )
    duration = dict(late.options).get("keep")
    if duration is not None and not _is_time(duration):
        raise ProgrammingError(
            f"the option keep of LATE ROWS INTO is a time such as '30 days', not '{duration}'", late.span
        )
    path = dict(late.options).get("path")
    if not path:
        raise ProgrammingError("LATE ROWS INTO needs a folder", late.span, "OPTIONS (path 'late/')")
    if urlparse(path).scheme not in ("", "file"):
        raise NotSupportedError(
            "LATE ROWS INTO takes a path of a local or mounted file system", late.span, "OPTIONS (path 'late/')"
        )


def kept_seconds(table: Source) -> float | None:
    """Return for how long a table of late rows keeps its files, None for ever."""
    duration = dict(table.options).get("keep")
    return None if duration is None else duration_micros(duration) / 1_000_000


def _is_time(text: str) -> bool:
    length = answer(lambda: duration_micros(text))
    return not isinstance(length, Error) and length > 0


def _check_columns(create: CreateSource, late: LateRows) -> None:
    added = [name for name, _ in LATE_COLUMNS]
    for column in create.columns:
        span = create.spans[column.name.lower()]
        if column.name.lower() in added:
            raise ProgrammingError(
                f"{late.name.text} would have two columns named {column.name.lower()}",
                span,
                f"LATE ROWS INTO adds {', '.join(added)}; give the stream's column another name",
            )
        wrong = _UNWRITABLE.search(column.type)
        if wrong is not None:
            raise NotSupportedError(f"LATE ROWS INTO cannot hold {wrong[0].upper()} columns", span)
        if late.format.text == "json" and _KEYED_BY_TEXT.search(column.type):
            raise NotSupportedError(
                "LATE ROWS INTO json takes maps with STRING keys only", span, "parquet takes all of them"
            )
