"""What METADATA columns of files can hold."""

FILE_PATH, FILE_NAME, FILE_SIZE, FILE_TIME, POSITION = (
    "file_path", "file_name", "file_size", "file_modification_time", "position",
)  # fmt: skip

FILE_METADATA = {
    FILE_PATH: ("string",),
    FILE_NAME: ("string",),
    FILE_SIZE: ("bigint",),
    FILE_TIME: ("timestamp",),
    POSITION: ("bigint",),
}
"""The types of what is known of a row by its file, by name."""

_PLACED = ("csv", "json", "text", "xml", "parquet")
_FILES = (*_PLACED, "orc", "avro")


def file_metadata(name: str) -> str:
    """Return the name of metadata of files, which Flink writes otherwise: `file.modification-time`."""
    return name.lower().replace(".", "_").replace("-", "_")


def known_file_metadata(format: str) -> dict[str, tuple[str, ...]]:
    """Return the metadata that files of a format have, with its types; nothing if these are no files."""
    if format not in _FILES:
        return {}
    return {name: types for name, types in FILE_METADATA.items() if name != POSITION or format in _PLACED}
