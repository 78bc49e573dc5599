"""What is read from which files or records: frozen, picklable data that workers get."""

from dataclasses import dataclass

from cepsql.scan.node import Node

LISTING_OPTIONS = frozenset({
    "path", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "maxcachedfiles", "filenameonly",
    "discardcachedinputratio", "cleansource", "sourcearchivedir", "pathglobfilter", "recursivefilelookup",
    "modifiedbefore", "modifiedafter",
})  # fmt: skip
"""Options that say which files a stream reads, and when: the same for every format."""


@dataclass(frozen=True)
class FileLayout:
    """How the files of a source are read, or the values of its records.

    format:    csv, json or parquet.
    columns:   names and canonical Spark SQL types of the declared columns that files or values hold, in order.
    metadata:  the other declared columns of records: name, type, and what it holds (a key of METADATA).
    wanted:    those of them that something reads; the others are only judged.
    separator: between the values of a CSV line, one character.
    header:    the first line of a CSV file with other than spaces holds names.
    """

    format: str
    columns: tuple[tuple[str, str], ...]
    wanted: frozenset[str]
    separator: str = ","
    header: bool = False
    metadata: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class ArrowScan:
    """All that a task needs to read files into the columns of a match program; picklable.

    where:      what a row must satisfy to be a row of the match's input, or None.
    values:     the program's columns by name: k*, t, o*, v*.
    predicates: the bits of the mask.
    alive:      which rows have to travel, as `cepsql.pattern.dead_rows` gives it.
    """

    layout: FileLayout
    where: Node | None
    values: tuple[tuple[str, Node], ...]
    predicates: tuple[Node, ...]
    alive: tuple[int, ...] | None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All expressions that are evaluated."""
        return (*(node for _, node in self.values), *self.predicates, *(() if self.where is None else (self.where,)))
