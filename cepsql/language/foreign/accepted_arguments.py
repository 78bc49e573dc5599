"""Functions of other engines that mean the same as an expression of Spark's if their arguments are of some form."""

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot.tokens import Token, TokenType

from cepsql.language.foreign.foreign_time_patterns import OF_C, OF_MYSQL, is_java_pattern, java_pattern, of_oracle

Argument = Sequence[Token]
Rule = Callable[[Sequence[Argument]], str | None]
"""Returns what a call with these arguments means, as of `accepted_functions.py`; None for no such call."""

UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_OF_DAY = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_DAY = 86_400
_PATH = re.compile(r"(?:lax )?(\$(?:\.\w+|\[\d+\])*)")
_MOST_QUANTILES = 1000


def _text(argument: Argument) -> str | None:
    """Return the text of an argument that is a quoted text alone."""
    return argument[0].text if len(argument) == 1 and argument[0].token_type == TokenType.STRING else None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _number(argument: Argument) -> int | None:
    """Return an argument that is a whole number alone."""
    signs = [token.text for token in argument]
    negative = signs[:1] == ["-"]
    digits = signs[negative:]
    return int("".join(signs)) if len(digits) == 1 and digits[0].isdigit() else None


def _unit(argument: Argument, is_text: bool = False) -> str | None:
    """Return a unit of time in the singular, capital letters: a word alone, or a text."""
    if len(argument) != 1 or (argument[0].token_type == TokenType.STRING) != is_text:
        return None
    unit = argument[0].text.upper().removesuffix("S")
    return unit if unit in UNITS else None


def _is_interval(argument: Argument) -> bool:
    """Tell whether an argument is a constant interval."""
    begins = [token.token_type for token in argument[:2]]
    return begins[:1] == [TokenType.INTERVAL] and begins[1] in (TokenType.NUMBER, TokenType.STRING)


def _moved(sign: str) -> Rule:
    """Make the rule for DATE_ADD(x, INTERVAL ...), which has a number of days in Spark."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        return f"({{0}} {sign} {{1}})" if len(arguments) == 2 and _is_interval(arguments[1]) else None

    return rule


def _added(arguments: Sequence[Argument]) -> str | None:
    """DATE_ADD('day', 3, x), with the unit as a text."""
    unit = _unit(arguments[0], is_text=True) if len(arguments) == 3 else None
    if unit is None:
        return None
    number = _number(arguments[1])
    # A constant length leaves a DATE a DATE.
    if number is None or unit == "QUARTER":
        return f"DATEADD({unit}, {{1}}, {{2}})"
    return f"({{2}} {'-' if number < 0 else '+'} INTERVAL '{abs(number)}' {unit})"


def _in_singular(function: str) -> Rule:
    """Make the rule for DATEADD(DAYS, 3, ts), which has its unit in the singular in Spark."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        unit = _unit(arguments[0]) if len(arguments) == 3 else None
        plural = unit is not None and arguments[0][0].text.upper() != unit
        return f"{function}({unit}, {{1}}, {{2}})" if plural else None

    return rule


def _either(*rules: Rule) -> Rule:
    """Make the rule of the first of these that applies."""
    return lambda arguments: next((meaning for rule in rules if (meaning := rule(arguments)) is not None), None)


def _date_add(arguments: Sequence[Argument]) -> str | None:
    return _added(arguments) or _moved("+")(arguments)


def _truncated(arguments: Sequence[Argument]) -> str | None:
    """TIMESTAMP_TRUNC(ts, HOUR); a WEEK begins on Sunday there."""
    if len(arguments) != 2:
        return None
    unit = _unit(arguments[1])
    if unit is None and len(arguments[1]) == 1 and arguments[1][0].text.upper() == "ISOWEEK":
        return "date_trunc('WEEK', {0})"
    return None if unit in (None, "WEEK") else f"date_trunc('{unit}', {{0}})"


def _elapsed(arguments: Sequence[Argument]) -> str | None:
    """TIMESTAMP_DIFF(later, earlier, SECOND)."""
    unit = _unit(arguments[2]) if len(arguments) == 3 else None
    return None if unit is None else f"TIMESTAMPDIFF({unit}, {{1}}, {{0}})"


def _days_between(arguments: Sequence[Argument]) -> str | None:
    """DATE_DIFF(later, earlier, DAY)."""
    return "datediff({0}, {1})" if len(arguments) == 3 and _unit(arguments[2]) == "DAY" else None


def _floor(arguments: Sequence[Argument]) -> str | None:
    """FLOOR(ts TO MINUTE)."""
    (argument,) = arguments if len(arguments) == 1 else ((),)
    if len(argument) < 3 or argument[-2].text.upper() != "TO" or (unit := _unit(argument[-1:])) is None:
        return None
    return f"date_trunc('{unit}', {{0:-2}})"


def _formatted(arguments: Sequence[Argument]) -> str | None:
    """FORMAT_DATE('%Y', day) of BigQuery, FORMAT_DATE(day, 'yyyy') of others."""
    if len(arguments) != 2:
        return None
    first, second = map(_text, arguments)
    if first is not None and "%" in first:
        pattern = java_pattern(first, OF_C)
        return None if pattern is None else f"date_format({{1}}, {_quoted(pattern)})"
    return "date_format({0}, {1})" if second is not None and is_java_pattern(second) else None


def _parsed(function: str, of_c: str) -> Rule:
    """Make the rule for PARSE_DATE('%Y', x) of BigQuery, PARSE_DATE(x, 'yyyy') of others."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        if len(arguments) != 2:
            return None
        first, second = map(_text, arguments)
        if first is not None and "%" in first:
            pattern = java_pattern(first, OF_C, parsing=True)
            return None if pattern is None else f"{of_c}({{1}}, {_quoted(pattern)})"
        return f"{function}({{0}}, {{1}})" if second is not None and is_java_pattern(second) else None

    return rule


def _date_format(arguments: Sequence[Argument]) -> str | None:
    """DATE_FORMAT(ts, '%Y-%m') of Trino; % is no sign of Spark's patterns."""
    pattern = _text(arguments[1]) if len(arguments) == 2 else None
    java = java_pattern(pattern, OF_MYSQL) if pattern is not None and "%" in pattern else None
    return None if java is None else f"date_format({{0}}, {_quoted(java)})"


def _read_by(signs: Mapping[str, str]) -> Rule:
    """Make the rule for DATE_PARSE(x, '%Y') and STRPTIME(x, '%Y'), whose patterns have these signs."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        pattern = _text(arguments[1]) if len(arguments) == 2 else None
        java = None if pattern is None else java_pattern(pattern, signs, parsing=True)
        return None if java is None else f"to_timestamp({{0}}, {_quoted(java)})"

    return rule


def _strftime(arguments: Sequence[Argument]) -> str | None:
    """STRFTIME(ts, '%Y'), in either order."""
    if len(arguments) != 2:
        return None
    for number, argument in enumerate(arguments):
        pattern = _text(argument)
        java = java_pattern(pattern, OF_C) if pattern is not None and "%" in pattern else None
        if java is not None:
            return f"date_format({{{1 - number}}}, {_quoted(java)})"
    return None


def _of_oracle(function: str) -> Rule:
    """Make the rule for TO_CHAR(ts, 'YYYY-MM-DD')."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        pattern = of_oracle(_text(arguments[1]) or "") if len(arguments) == 2 else None
        return None if pattern is None else f"{function}({{0}}, {_quoted(pattern)})"

    return rule


def _array_length(arguments: Sequence[Argument]) -> str | None:
    """ARRAY_LENGTH(xs, 1), of the first dimension."""
    return "array_size({0})" if len(arguments) == 2 and _number(arguments[1]) == 1 else None


def _bucket(seconds: int | None, length: str, time: str) -> str | None:
    """Return the beginning of the window of a time, if windows are as long as a part of a day."""
    return None if not seconds or _DAY % seconds else f"window({time}, '{length}').start"


def _date_bin(arguments: Sequence[Argument]) -> str | None:
    """DATE_BIN('15 minutes', ts, TIMESTAMP '2026-01-01'), by windows that begin there, too."""
    if len(arguments) not in (2, 3):
        return None
    length, seconds = _length(arguments[0])
    if len(arguments) == 3:
        origin = re.fullmatch(r"\d+-\d+-\d+(?:[ T](\d+):(\d+)(?::(\d+))?)?", str(_text(arguments[2][-1:])))
        if origin is None or not seconds:
            return None
        hours, minutes, rest = (int(part or 0) for part in origin.groups())
        if (hours * 3600 + minutes * 60 + rest) % seconds:
            return None
    return _bucket(seconds, length, "{1}")


def _length(argument: Argument) -> tuple[str, int | None]:
    """Return a constant interval of one unit as a text, and how many seconds it has."""
    words = [token.text for token in argument if token.token_type != TokenType.INTERVAL]
    match = re.fullmatch(r"(\d+) (SECOND|MINUTE|HOUR|DAY)S?", " ".join(words).upper())
    if match is None:
        return "", None
    seconds = int(match[1]) * (_OF_DAY | {"DAY": _DAY})[match[2]]
    return f"{match[1]} {match[2].lower()}", seconds


def _time_slice(arguments: Sequence[Argument]) -> str | None:
    """TIME_SLICE(ts, 15, 'MINUTE')."""
    if len(arguments) != 3:
        return None
    number, unit = _number(arguments[1]), _unit(arguments[2], is_text=True)
    seconds = number * _OF_DAY[unit] if number is not None and unit in _OF_DAY else None
    return _bucket(seconds, f"{number} {str(unit).lower()}", "{0}")


def _path(arguments: Sequence[Argument]) -> str | None:
    """Return the path of JSON that a call asks for, if it is plain."""
    match = _PATH.fullmatch(_text(arguments[1]) or "") if len(arguments) == 2 else None
    return None if match is None else _quoted(match[1])


def _json_value(arguments: Sequence[Argument]) -> str | None:
    """JSON_VALUE(x, '$.a'), and JSON_VALUE(x, '$.a' RETURNING INT)."""
    if len(arguments) == 2 and [token.text.upper() for token in arguments[1][1:2]] == ["RETURNING"]:
        kind = [token.text for token in arguments[1][2:]]
        value = _JSON_SCALAR([arguments[0], arguments[1][:1]])
        return f"TRY_CAST({value} AS {kind[0]})" if value is not None and len(kind) == 1 else None
    return _JSON_SCALAR(arguments)


def _json(whole: str, scalar: str) -> Rule:
    """Make the rule for a part of JSON as text; lists and objects are `whole`, other values `scalar`."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        path = _path(arguments)
        if path is None:
            return None
        kind = f"schema_of_variant(try_variant_get(try_parse_json({{0}}), {path}, 'variant'))"
        values = (value.format(path=path) for value in (whole, scalar))
        return "CASE WHEN {} RLIKE '^(ARRAY|OBJECT)' THEN {} ELSE {} END".format(kind, *values)

    return rule


_PART = "get_json_object({{0}}, {path})"


_JSON_SCALAR = _json("NULL", _PART)


def _json_part(arguments: Sequence[Argument]) -> str | None:
    path = _path(arguments)
    return None if path is None else f"get_json_object({{0}}, {path})"


def _json_names(arguments: Sequence[Argument]) -> str | None:
    """JSON_EXTRACT_PATH_TEXT(x, 'a', 'b')."""
    names = [_text(argument) for argument in arguments[1:]]
    if not names or not all(name and re.fullmatch(r"\w+(\.\w+)*", name) for name in names):
        return None
    return f"get_json_object({{0}}, {_quoted('.'.join(['$', *map(str, names)]))})"


def _groups(pattern: str) -> int:
    """Return how many groups a regular expression has."""
    plain = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", pattern)
    return len(re.findall(r"\((?!\?)|\(\?<(?![=!])", plain))


def _whole_match(function: str) -> Rule:
    """Make the rule for an expression without groups, of which Spark asks for the first one by default."""

    def rule(arguments: Sequence[Argument]) -> str | None:
        pattern = _text(arguments[1]) if len(arguments) == 2 else None
        return f"{function}({{0}}, {{1}}, 0)" if pattern is not None and not _groups(pattern) else None

    return rule


def _replaced(arguments: Sequence[Argument]) -> str | None:
    """REGEXP_REPLACE(x, pattern), which removes, and REGEXP_REPLACE(x, pattern, new, 'g')."""
    if len(arguments) == 2:
        return "regexp_replace({0}, {1}, '')"
    return "regexp_replace({0}, {1}, {2})" if len(arguments) == 4 and _text(arguments[3]) == "g" else None


def _format(arguments: Sequence[Argument]) -> str | None:
    """FORMAT('%s has %d', ...), with signs that are Java's."""
    pattern = _text(arguments[0]) if arguments else None
    if pattern is None or re.sub(r"%(?:%|\d*\$?[-+ ,0]*\d*(?:\.\d+)?[sdfxXeobc])", "", pattern).find("%") >= 0:
        return None
    return "format_string({*})" if "{" not in pattern else None


def _map(arguments: Sequence[Argument]) -> str | None:
    """MAP(ARRAY[...], ARRAY[...]); Spark's has keys and values in turn."""
    lists = len(arguments) == 2 and all(
        argument[-1].text == "]" and (argument[0].text == "[" or argument[0].text.upper() == "ARRAY")
        for argument in arguments
    )
    return "map_from_arrays({0}, {1})" if lists else None


def _quantiles(arguments: Sequence[Argument]) -> str | None:
    """APPROX_QUANTILES(x, 4)."""
    number = _number(arguments[1]) if len(arguments) == 2 else None
    if number is None or not 1 <= number <= _MOST_QUANTILES:
        return None
    shares = ", ".join(f"{i / number!r}D" for i in range(number + 1))
    return f"approx_percentile({{0}}, array({shares}))"


_BYTES = {
    "utf8": "encode({0}, 'UTF-8')",
    "ascii": "encode({0}, 'UTF-8')",
    "hex": "unhex({0})",
    "base64": "unbase64({0})",
}
_TEXTS = {"utf8": "decode(%s, 'UTF-8')", "ascii": "decode(%s, 'UTF-8')", "hex": "hex(%s)", "base64": "base64(%s)"}


def _encoded(arguments: Sequence[Argument]) -> str | None:
    """ENCODE(x, 'utf8', 'base64') of ksqlDB."""
    before, after = (_text(one) or "" for one in arguments[1:]) if len(arguments) == 3 else ("", "")
    return _TEXTS[after] % _BYTES[before] if before in _BYTES and after in _TEXTS else None


def _cast(arguments: Sequence[Argument]) -> str | None:
    """CAST(x, double) of Esper."""
    kind = arguments[1] if len(arguments) == 2 else ()
    plain = len(kind) == 1 and kind[0].token_type != TokenType.STRING
    return f"CAST({{0}} AS {kind[0].text})" if plain else None


def _part(arguments: Sequence[Argument]) -> str | None:
    """DATE_PART(year, day), with the unit as a word."""
    unit = _unit(arguments[0]) if len(arguments) == 2 else None
    return None if unit is None else f"date_part('{unit}', {{1}})"


def _date(arguments: Sequence[Argument]) -> str | None:
    return "make_date({0}, {1}, {2})" if len(arguments) == 3 else None


RULES: dict[str, Rule] = {
    "DATE_ADD": _date_add,
    "DATE_SUB": _moved("-"),
    "DATEADD": _either(_added, _in_singular("DATEADD")),
    "DATEDIFF": _in_singular("DATEDIFF"),
    "TIMESTAMPADD": _either(_added, _in_singular("TIMESTAMPADD")),
    "TIMESTAMPDIFF": _in_singular("TIMESTAMPDIFF"),
    "TIMESTAMP_ADD": _moved("+"),
    "TIMESTAMP_SUB": _moved("-"),
    "DATETIME_ADD": _moved("+"),
    "DATETIME_SUB": _moved("-"),
    "TIMESTAMP_TRUNC": _truncated,
    "DATETIME_TRUNC": _truncated,
    "TIMESTAMP_DIFF": _elapsed,
    "DATE_DIFF": _days_between,
    "FLOOR": _floor,
    "FORMAT_DATE": _formatted,
    "FORMAT_TIMESTAMP": _formatted,
    "FORMAT_DATETIME": _formatted,
    "PARSE_DATE": _parsed("to_date", "to_date"),
    "PARSE_TIMESTAMP": _parsed("to_timestamp", "to_timestamp"),
    "PARSE_DATETIME": _parsed("to_timestamp", "to_timestamp_ntz"),
    "DATE_FORMAT": _date_format,
    "DATE_PARSE": _read_by(OF_MYSQL),
    "STRFTIME": _strftime,
    "STRPTIME": _read_by(OF_C),
    "TO_CHAR": _of_oracle("date_format"),
    "TO_VARCHAR": _of_oracle("date_format"),
    "TO_DATE": _of_oracle("to_date"),
    "TO_TIMESTAMP": _of_oracle("to_timestamp"),
    "DATE_BIN": _date_bin,
    "ARRAY_LENGTH": _array_length,
    "TIME_SLICE": _time_slice,
    "DATE": _date,
    "DATE_PART": _part,
    "ENCODE": _encoded,
    "CAST": _cast,
    "JSON_VALUE": _json_value,
    "JSON_EXTRACT_SCALAR": _JSON_SCALAR,
    "JSON_QUERY": _json(_PART, "NULL"),
    "EXTRACTJSONFIELD": _json_part,
    "JSON_EXTRACT_STRING": _json_part,
    "JSON_EXTRACT_PATH_TEXT": _json_names,
    "REGEXP_EXTRACT": _whole_match("regexp_extract"),
    "REGEXP_EXTRACT_ALL": _whole_match("regexp_extract_all"),
    "REGEXP_REPLACE": _replaced,
    "FORMAT": _format,
    "MAP": _map,
    "APPROX_QUANTILES": _quantiles,
}
"""By name, in capital letters."""
