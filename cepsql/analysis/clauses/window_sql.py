"""Spark SQL that gives rows the windows of event time that they lie in, row by row; sessions of tables, too.

Fixed lengths are counted from the epoch. Days, weeks and months are those of the session's time zone: windows begin
where a date does, `offset` later on the clocks there.
"""

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.assigned_window_calls import CUMULATING, HOPPING, SESSION, AssignedWindows
from cepsql.analysis.sql.lengths import MONTHS, WEEKS, Length
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.language.tokens import DIALECT
from cepsql.operators.windowing.windows import END, REPEATED, START, TIME

_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
_ROWS, _PLACE, _NUMBER = "__rows", "__place", "__session"
_FIRST_MONDAY = 4


def windowed_query(rows: exp.Query, windows: AssignedWindows, counted: bool = False) -> exp.Query:
    """Return the query of rows with their windows: one row for each window that a row lies in.

    Rows without a time are in none. `counted`: an operator counts the rows: those without a time come all the same,
    once, and where a row may lie in several windows REPEATED is among the columns.
    Sessions are those of a table.
    """
    time = _time(windows, exp.column(exp.to_identifier(windows.time, quoted=True), table=exp.to_identifier(_ROWS)))
    text = _sessions(windows) if windows.kind == SESSION else _assigned(windows, time, counted)
    query = parse_one(text, dialect=DIALECT)
    for table in [table for table in query.find_all(exp.Table) if table.name == _ROWS]:
        alias = exp.TableAlias(this=exp.to_identifier(_ROWS))
        table.replace(exp.Subquery(this=rows.copy(), alias=alias, joins=table.args.get("joins")))
    assert isinstance(query, exp.Query)
    return query


def _time(windows: AssignedWindows, column: exp.Column) -> str:
    """Return the SQL of the time of a row."""
    time = sql_of(column)
    return f"CAST({time} AS {windows.time_type})" if windows.of_date else time


def window_structs(windows: AssignedWindows, time: str) -> str:
    """Return the SQL of an array of the windows that a time lies in, structs as window(...) gives them; NULL for NULL.

    time: an expression.
    """
    start, end, condition = _bounds(windows, time, "i")
    kind = windows.bound_type
    struct = f"NAMED_STRUCT('start', CAST({start} AS {kind}), 'end', CAST({end} AS {kind}))"
    if not condition:
        return f"CASE WHEN {time} IS NOT NULL THEN ARRAY({struct}) END"
    numbers = f"FILTER(SEQUENCE(0, {_most(windows) - 1}), i -> {condition})"
    return f"CASE WHEN {time} IS NOT NULL THEN TRANSFORM({numbers}, i -> {struct}) END"


def window_times(windows: AssignedWindows, end: str) -> str:
    """Return the SQL of what comes behind the bounds of a window that ends at `end`: a column, or nothing."""
    return f", {end} - INTERVAL '0.001' SECOND AS {TIME}" if windows.timed else ""


def _assigned(windows: AssignedWindows, time: str, counted: bool) -> str:
    start, end, condition = _bounds(windows, time, f"{_PLACE}.i")
    kind = windows.bound_type
    start, end = f"CAST({start} AS {kind})", f"CAST({end} AS {kind})"
    join, where, repeated = "", "" if counted else f" WHERE {time} IS NOT NULL", ""
    if condition:
        most = _most(windows)
        numbers = f"(SELECT EXPLODE(SEQUENCE(0, {most - 1})) AS i) AS {_PLACE}"
        join = f" {'LEFT JOIN' if counted else 'JOIN'} {numbers} ON {condition}"
        if counted:
            where = f" WHERE {time} IS NULL OR {_PLACE}.i IS NOT NULL"
            repeated = f", {_is_repeated(windows, time, end)} AS {REPEATED}"
    columns = f"{_ROWS}.*, {start} AS {START}, {end} AS {END}{window_times(windows, end)}{repeated}"
    return f"SELECT {columns} FROM {_ROWS}{join}{where}"


def _is_repeated(windows: AssignedWindows, time: str, end: str) -> str:
    """Return the SQL that tells whether the window that ends at `end` is not the last one of a row."""
    if windows.kind == HOPPING:
        return f"{_PLACE}.i > 0"
    return f"{end} < {_begin(windows, time, windows.size, '1')}"


def _most(windows: AssignedWindows) -> int:
    """Return in how many windows a row may lie, at most."""
    return -(-windows.size.longest // windows.step.shortest)


def _bounds(windows: AssignedWindows, time: str, number: str) -> tuple[str, str, str]:
    """Return the bounds of the window with a number of a row, and the condition for there being one, if not always."""
    if windows.kind == CUMULATING:
        first = _begin(windows, time, windows.size, "0")
        whole = _begin(windows, time, windows.size, "1")
        before, end = (_later(windows, first, windows.step, n) for n in (number, f"({number} + 1)"))
        end = f"LEAST({end}, {whole})"
        return first, end, f"{time} < {end} AND {before} < {whole}"
    if windows.kind == HOPPING:
        start = _begin(windows, time, windows.step, f"-{number}")
        end = _end(windows, time, start, f"-{number}")
        return start, end, f"{start} <= {time} AND {time} < {end}"
    return _begin(windows, time, windows.size, "0"), _begin(windows, time, windows.size, "1"), ""


def _begin(windows: AssignedWindows, time: str, every: Length, number: str) -> str:
    """Return when the window begins that is `number` after the latest one that began by a row's time."""
    if every.fixed:
        micros = _micros(time, windows.time_type)
        shift = windows.offset.count
        latest = f"{micros} - PMOD({micros} - {shift}L, {every.count}L)"
        further = "" if number == "0" else f" + ({number}) * {every.count}L"
        return _instant(f"{latest}{further}", windows.time_type)
    return _date_begin(windows, _index(windows, time, every), every, number)


def _end(windows: AssignedWindows, time: str, start: str, number: str) -> str:
    """Return when a hopping window ends that begins at `start`, `number` after the latest one."""
    size, every = windows.size, windows.step
    if size.fixed:
        return _later(windows, start, size, "1")
    if every.fixed:
        count = size.count * (7 if size.unit == WEEKS else 1)
        return f"{start} + INTERVAL '{count}' {'MONTH' if size.unit == MONTHS else 'DAY'}"
    date = _date(f"{_index(windows, time, every)} + ({number})", every)
    return _clock(windows, f"ADD_MONTHS({date}, {size.count})" if size.unit == MONTHS else _days_later(date, size))


def _later(windows: AssignedWindows, start: str, length: Length, number: str) -> str:
    """Return the time `number` lengths after another one."""
    if length.fixed:
        return _instant(f"{_micros(start, windows.time_type)} + {number} * {length.count}L", windows.time_type)
    date = f"CAST({start} AS DATE)"
    if windows.offset.count:
        date = f"CAST(CAST({start} AS TIMESTAMP_NTZ) - {_shift(windows.offset)} AS DATE)"
    if length.unit == MONTHS:
        return _clock(windows, f"ADD_MONTHS({date}, CAST({number} * {length.count} AS INT))")
    return _clock(windows, _days_later(date, length, number))


def _index(windows: AssignedWindows, time: str, every: Length) -> str:
    """Return the number of the latest window of a calendar that began by a row's time."""
    offset = windows.offset
    if not offset.count:
        return _date_index(f"CAST({time} AS DATE)", every)
    clock = f"CAST({time} AS TIMESTAMP_NTZ) - {_shift(offset)}"
    plain = _date_index(f"CAST({clock} AS DATE)", every)
    # Where clocks are set forward or back at that very time of the day, it may be the one after, or before.
    after, here = (_date_begin(windows, plain, every, number) for number in ("1", "0"))
    return f"({plain} + CASE WHEN {after} <= {time} THEN 1 WHEN {time} < {here} THEN -1 ELSE 0 END)"


def _date_index(date: str, every: Length) -> str:
    if every.unit == MONTHS:
        return f"CAST(FLOOR((YEAR({date}) * 12 + MONTH({date}) - 23641) / {every.count}) AS INT)"
    days = f"UNIX_DATE({date})"
    if every.unit == WEEKS:
        return f"CAST(FLOOR(({days} - {_FIRST_MONDAY}) / {every.count * 7}) AS INT)"
    return days if every.count == 1 else f"CAST(FLOOR({days} / {every.count}) AS INT)"


def _date_begin(windows: AssignedWindows, index: str, every: Length, number: str) -> str:
    return _clock(windows, _date(index if number == "0" else f"{index} + ({number})", every))


def _date(index: str, every: Length) -> str:
    """Return the date on which the window of a number begins."""
    if every.unit == MONTHS:
        return f"ADD_MONTHS(DATE_FROM_UNIX_DATE(0), CAST(({index}) * {every.count} AS INT))"
    days = every.count * (7 if every.unit == WEEKS else 1)
    first = _FIRST_MONDAY if every.unit == WEEKS else 0
    if days == 1:
        return f"DATE_FROM_UNIX_DATE({index})"
    return f"DATE_FROM_UNIX_DATE(CAST(({index}) * {days} + {first} AS INT))"


def _days_later(date: str, length: Length, number: str = "1") -> str:
    days = length.count * (7 if length.unit == WEEKS else 1)
    return f"DATE_FROM_UNIX_DATE(CAST(UNIX_DATE({date}) + {number} * {days} AS INT))"


def _clock(windows: AssignedWindows, date: str) -> str:
    """Return the time at which the clocks reach the offset on a date."""
    if not windows.offset.count:
        return f"CAST({date} AS {windows.time_type})"
    return f"CAST(CAST({date} AS TIMESTAMP_NTZ) + {_shift(windows.offset)} AS {windows.time_type})"


def _shift(offset: Length) -> str:
    if offset.fixed:
        return f"MAKE_DT_INTERVAL(0, 0, 0, {offset.count / 1_000_000:.6f})"
    return f"MAKE_DT_INTERVAL({offset.count * (7 if offset.unit == WEEKS else 1)})"


def _micros(time: str, kind: str) -> str:
    if kind == "timestamp":
        return f"UNIX_MICROS({time})"
    seconds = f"CAST(EXTRACT(SECOND FROM {time}) * 1000000 AS BIGINT)"
    days = f"UNIX_DATE(CAST({time} AS DATE)) * {_DAY}L"
    return f"({days} + HOUR({time}) * {_HOUR}L + MINUTE({time}) * {_MINUTE}L + {seconds})"


def _instant(micros: str, kind: str) -> str:
    if kind == "timestamp":
        return f"TIMESTAMP_MICROS({micros})"
    return f"(CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ) + ({micros}) * INTERVAL '0.000001' SECOND)"


def _sessions(windows: AssignedWindows) -> str:
    """Return the query of a table's rows with their sessions: a row at most the gap after the one before is of its."""
    time = _time(windows, exp.column(exp.to_identifier(windows.time, quoted=True)))
    keys = [sql_of(key) for key in windows.partition or ()]
    of_keys = f"PARTITION BY {', '.join(keys)} " if keys else ""
    gap = f"{windows.size.count}L" if windows.size.fixed else None
    assert gap is not None
    micros = _micros(time, windows.time_type)
    begins = f"COALESCE({micros} - LAG({micros}) OVER ({of_keys}ORDER BY {time}) > {gap}, TRUE) AS {_PLACE}"
    counted = f"COUNT_IF({_PLACE}) OVER ({of_keys}ORDER BY {time}) AS {_NUMBER}"
    session = f"OVER (PARTITION BY {', '.join([*keys, _NUMBER])})"
    kind = windows.bound_type
    start = f"CAST(MIN({time}) {session} AS {kind})"
    latest = _micros(f"MAX({time}) {session}", windows.time_type)
    end = f"CAST({_instant(f'{latest} + {gap}', windows.time_type)} AS {kind})"
    return (
        f"SELECT * EXCEPT ({_PLACE}, {_NUMBER}), {start} AS {START}, {end} AS {END}{window_times(windows, end)} FROM ("
        f"SELECT *, {counted} FROM (SELECT *, {begins} FROM {_ROWS} WHERE {time} IS NOT NULL))"
    )
