"""One line of CSV split into its values as Spark's CSV parser (univocity) does it."""

_QUOTE, _ESCAPE = '"', "\\"


def split_line(line: str, separator: str) -> list[str]:
    """Return the values of a line without its end.

    A quote counts only where a value begins. Inside, a backslash keeps a quote or a backslash; a quote that neither
    ends the value nor is escaped makes all up to the next separator plain text, quotes included. (Where a backslash
    follows such a quote, Spark's parser drops characters; here they stay.)
    """
    values = line.split(separator)
    if not any(value.startswith(_QUOTE) for value in values):
        return values
    values, at = [], 0
    while True:
        if line.startswith(_QUOTE, at):
            value, at = _quoted(line, at, separator)
        else:
            end = line.find(separator, at)
            end = len(line) if end < 0 else end
            value, at = line[at:end], end
        values.append(value)
        if at >= len(line):
            return values
        at += 1
        if at == len(line):
            return [*values, ""]


def _quoted(line: str, begin: int, separator: str) -> tuple[str, int]:
    """Return the value whose opening quote is at `begin`, and where the separator after it, or the end, is."""
    out: list[str] = []
    previous, at, size = "", begin + 1, len(line)
    if at == size:
        return _QUOTE, size
    while at < size:
        char = line[at]
        if previous == _QUOTE and (char <= " " or char == separator):
            return _closed(line, begin, at, "".join(out), separator)
        if char not in (_QUOTE, _ESCAPE):
            if previous == _QUOTE:
                return _as_it_is(line, "".join(out), at, separator)
            if previous == _ESCAPE:
                out.append(_ESCAPE)
            end = at
            while end < size and line[end] not in (_QUOTE, _ESCAPE):
                end += 1
            out.append(line[at:end])
            previous, at = line[end : end + 1], end + 1
            continue
        if char == _ESCAPE and previous == _ESCAPE:
            out.append(_ESCAPE)
            char = ""
        elif previous == _ESCAPE:
            out.append(_QUOTE)
            char = ""
        elif previous == _QUOTE and char == _QUOTE:
            out.append(_QUOTE)
        elif previous == _QUOTE:
            return _as_it_is(line, "".join(out), at, separator)
        previous, at = char, at + 1
    return "".join(out), size


def _closed(line: str, begin: int, at: int, value: str, separator: str) -> tuple[str, int]:
    """Pass over the spaces after a closing quote; text behind them makes the whole value plain."""
    end = at
    while end < len(line) and line[end] <= " " and line[end] != separator:
        end += 1
    if end == len(line) or line[end] == separator:
        return value, end
    return _as_it_is(line, value, at, separator)


def _as_it_is(line: str, value: str, at: int, separator: str) -> tuple[str, int]:
    end = line.find(separator, at)
    end = len(line) if end < 0 else end
    return f'"{value}"{line[at:end]}', end
