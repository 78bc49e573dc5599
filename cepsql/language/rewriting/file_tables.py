"""Files as tables in FROM: a path in single quotes, and functions such as read_csv('path', header => true)."""

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from cepsql.catalog.locations import is_local
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import ParsedQuery
from cepsql.language.tokens import Text

FILE = "file"
"""The key of a table name's metadata with its `FileTable`."""

READERS = {
    "read_csv": "csv", "read_csv_auto": "csv", "read_json": "json", "read_json_auto": "json", "read_ndjson": "json",
    "read_parquet": "parquet", "parquet_scan": "parquet", "read_orc": "orc", "read_text": "text",
}  # fmt: skip
"""The functions that read files, with their formats; some have DuckDB's names."""

_ENDINGS = {
    "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet",
    "pq": "parquet", "orc": "orc", "txt": "text", "log": "text", "text": "text",
}  # fmt: skip
_COMPRESSED = ("gz", "bz2", "deflate", "snappy", "zst", "lz4")
_SPELLED = {"delim": "sep", "delimiter": "sep", "nullstr": "nullValue"}
"""DuckDB's names of options."""


@dataclass(frozen=True)
class FileTable:
    """Files that a query reads as a table.

    path:    as written.
    format:  csv, json, parquet, orc or text; None: from the file extensions.
    options: of the format, by name.
    written: the path, or the call, as written.
    """

    path: str
    format: str | None
    options: tuple[tuple[str, str], ...]
    written: str

    @property
    def name(self) -> str:
        """A name for the table that is unique to these files."""
        identity = repr((self.path, self.format, self.options)).encode()
        return f"__file_{hashlib.sha256(identity).hexdigest()[:12]}"


def ending_format(path: str) -> str | None:
    """Return the format of a file extension, None if it has no known format.

    >>> ending_format("logs/*.csv"), ending_format("/a/b.json.gz"), ending_format("logs/")
    ('csv', 'json', None)
    """
    parts = os.path.basename(path).lower().split(".")[1:]
    if parts and parts[-1] in _COMPRESSED:
        parts = parts[:-1]
    return _ENDINGS.get(parts[-1]) if parts else None


def name_files(text: Text, tables: Iterable[exp.Table]) -> None:
    """Name the files that are read as tables; the names have them as metadata under FILE.

    Raises ProgrammingError or NotSupportedError for an invalid call of a function that reads files.
    """
    for table in tables:
        file = _file_table(text, table)
        if file is None:
            continue
        meta = table.this.meta
        name = exp.to_identifier(file.name)
        name.meta.update({key: meta[key] for key in ("start", "end") if key in meta})
        name.meta[FILE] = file
        table.set("this", name)
        alias = table.args.get("alias")
        if alias is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(_alias(file))))
        elif alias.this is None:
            alias.set("this", exp.to_identifier(_alias(file)))


def files_of(trees: Iterable[exp.Expr]) -> list[tuple[FileTable, exp.Identifier]]:
    """Return the files that trees read as tables, each with its name."""
    names = (
        table.this for tree in trees for table in tree.find_all(exp.Table) if table.this.meta_get(FILE) is not None
    )
    return [(name.meta[FILE], name) for name in names]


def refuse_relative_files(query: ParsedQuery) -> None:
    """Refuse relative paths in a query that is stored, because a process in another folder would not find them.

    Raises ProgrammingError.
    """
    for file, name in files_of([query.expression, *(clause.input for clause in query.operators)]):
        if is_local(file.path) and not os.path.isabs(os.path.expanduser(file.path)):
            hint = f"write the whole path: {os.path.abspath(file.path)}"
            span = Span(name.meta_get("start", 0), name.meta_get("end", 0) + 1)
            raise ProgrammingError(f"the catalog would keep {file.path}, a path from this folder", span, hint)


def _file_table(text: Text, table: exp.Table) -> FileTable | None:
    this = table.this
    start, end = this.meta_get("start", -1), this.meta_get("end", -1)
    if isinstance(this, exp.Identifier):
        quoted = start >= 0 and text.sql[start] == "'" and len(table.parts) == 1
        return FileTable(this.name, None, (), text.sql[start : end + 1]) if quoted else None
    if not isinstance(this, exp.Anonymous) or this.name.lower() not in READERS:
        return None
    span = Span(start, end + 1) if start >= 0 else None
    path, options = next(iter(this.expressions), None), this.expressions[1:]
    if not isinstance(path, exp.Literal) or not path.is_string:
        hint = f"{this.name}('logs/*.csv'); a pattern reads several files"
        raise ProgrammingError(f"{this.name} needs a path as a text", span, hint, text.sql)
    values: dict[str, str] = {}
    for option in options:
        name, value = _option(option)
        if name is None or value is None:
            hint = f"{this.name}('{path.name}', name => value, ...), each value a constant"
            raise ProgrammingError(f"an option of {this.name} has a name and a constant value", span, hint, text.sql)
        name = _SPELLED.get(name.lower(), name)
        if name.lower() in ("path", *(option.lower() for option in values)):
            raise ProgrammingError(f"the option {name} is given twice", span, None, text.sql)
        values[name] = value
    return FileTable(path.name, READERS[this.name.lower()], tuple(values.items()), text.sql[start : end + 1])


def _option(written: exp.Expr) -> tuple[str | None, str | None]:
    """Return the name and the value of an option: name => value, name = value or name := value; else None."""
    if not isinstance(written, exp.Kwarg | exp.EQ | exp.PropertyEQ):
        return None, None
    name = written.this.name if isinstance(written.this, exp.Var | exp.Column | exp.Identifier) else None
    value = written.expression
    if isinstance(value, exp.Boolean):
        return name, "true" if value.this else "false"
    return name, value.name if isinstance(value, exp.Literal) else None


def _alias(file: FileTable) -> str:
    """Return the default alias of a table over files: the name of the file, or of its folder.

    >>> _alias(FileTable("logs/a-1.csv.gz", None, (), "")), _alias(FileTable("/data/logs/*.csv", None, (), ""))
    ('a_1', 'logs')
    """
    parts = [part for part in file.path.split("/") if part and not re.search(r"[*?\[{]", part)]
    stem = re.sub(r"\W+", "_", parts[-1].split(".")[0] if parts else "").strip("_")
    return stem if stem and not stem[0].isdigit() else f"files_{stem}".rstrip("_")


def refuse_calls(text: Text, tables: Iterable[exp.Table]) -> None:
    """Refuse functions of other systems that read files, such as read_xlsx('a.xlsx')."""
    for table in tables:
        call = table.this
        if isinstance(call, exp.Anonymous) and re.match(r"(?i)read_\w+\Z", call.name):
            start, end = call.meta_get("start", 0), call.meta_get("end", 0)
            hint = suggestion(call.name.lower(), list(READERS), "functions that read files")
            raise NotSupportedError(f"there is no function {call.name}", Span(start, end + 1), hint, text.sql)
