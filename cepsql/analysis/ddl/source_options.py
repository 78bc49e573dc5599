"""The options of sources that Spark knows, and those that look like one of them by mistake: Spark passes over these."""

import difflib
from collections.abc import Iterable

from cepsql.catalog import Source
from cepsql.errors import ProgrammingError, suggestion
from cepsql.readers.datagen.fields import FIELD_OPTIONS, OPTIONS

COMMON_OPTIONS: dict[str, tuple[str, ...]] = {
    "csv": ("header", "sep", "quote", "escape", "nullValue", "timestampFormat", "dateFormat", "mode", "maxLineBytes"),
    "json": ("multiLine", "timestampFormat", "dateFormat", "mode", "primitivesAsString", "maxLineBytes"),
    "parquet": ("mergeSchema",),
    "orc": (),
    "text": ("wholetext", "lineSep", "maxLineBytes"),
    "datagen": (*OPTIONS, *(f"fields.NAME.{name}" for name in FIELD_OPTIONS)),
    "rate": ("rowsPerSecond", "numPartitions", "rampUpTime"),
    "kafka": (
        "kafka.bootstrap.servers", "subscribe", "subscribePattern", "startingOffsets", "endingOffsets",
        "maxOffsetsPerTrigger", "failOnDataLoss", "reader",
    ),
    "jdbc": ("url", "dbtable", "user", "password", "driver"),
}  # fmt: skip
"""Those that are used most, by the format's name."""

COMMON_FILE_OPTIONS = ("path", "maxFilesPerTrigger", "pathGlobFilter", "recursiveFileLookup")
"""Those of every format of files that are used most."""

FILE_FORMATS = ("csv", "json", "parquet", "orc", "text")

_FILES = (
    "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge", "cleanSource", "sourceArchiveDir",
    "maxCachedFiles", "discardCachedInputRatio", "modifiedBefore", "modifiedAfter", "ignoreCorruptFiles",
    "ignoreMissingFiles", "basePath", "compression",
)  # fmt: skip
_TEXTS = (
    "encoding", "charset", "lineSep", "locale", "timeZone", "timestampNTZFormat", "samplingRatio", "inferSchema",
    "enableDateTimeParsingFallback", "columnNameOfCorruptRecord", "singleVariantColumn", "multiLine",
)  # fmt: skip
_OTHERS: dict[str, tuple[str, ...]] = {
    "csv": (
        *_TEXTS, "delimiter", "comment", "preferDate", "enforceSchema", "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace", "nanValue", "positiveInf", "negativeInf", "emptyValue", "maxColumns",
        "maxCharsPerColumn", "charToEscapeQuoteEscaping", "unescapedQuoteHandling", "columnPruning", "inputBufferSize",
    ),
    "json": (
        *_TEXTS, "prefersDecimal", "allowComments", "allowUnquotedFieldNames", "allowSingleQuotes",
        "allowNumericLeadingZeros", "allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars",
        "allowNonNumericNumbers", "dropFieldIfAllNull", "ignoreNullFields",
    ),
    "parquet": ("datetimeRebaseMode", "int96RebaseMode"),
}  # fmt: skip


def known_options(format: str) -> tuple[str, ...]:
    """Return the options of a format of files that are known here."""
    return (*COMMON_FILE_OPTIONS, *_FILES, *COMMON_OPTIONS[format], *_OTHERS.get(format, ()))


def check_reader(source: Source) -> None:
    """Raise ProgrammingError for an unknown option of read_csv or another function that reads files."""
    spelled = {name.lower(): name for name in known_options(source.format)}
    for name, _ in source.options:
        if name.lower() not in spelled:
            near = [spelled[low] for low in difflib.get_close_matches(name.lower(), spelled, 1, 0.6)]
            listed = [*near, *(usual for usual in COMMON_OPTIONS[source.format] if usual not in near)]
            hint = suggestion(name, listed, "options")
            raise ProgrammingError(f"{source.format} files have no option {name}", hint=hint)


def mistaken_option(format: str, options: Iterable[str]) -> tuple[str, str] | None:
    """Return the first option of a source over files that Spark has not, and the one that it looks like.

    None if all are known, or look like none: Spark may have options that are not listed here.

    >>> mistaken_option("csv", ["path", "Header", "maxFilePerTrigger"])
    ('maxFilePerTrigger', 'maxFilesPerTrigger')
    """
    if format not in FILE_FORMATS:
        return None
    spelled = {name.lower(): name for name in known_options(format)}
    for option in options:
        near = [] if option.lower() in spelled else difflib.get_close_matches(option.lower(), spelled, 1, 0.75)
        if near:
            return option, spelled[near[0]]
    return None
