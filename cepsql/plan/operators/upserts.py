"""The table that a stream with a PRIMARY KEY makes, in a plan."""

from dataclasses import dataclass, replace

from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import Source
from cepsql.plan.tree.nodes import ChangeOperator, Node, Read


@dataclass(frozen=True)
class Upserts(ChangeOperator):
    """An ordered operator: the table that a stream with a PRIMARY KEY makes, as changes.

    inputs: the stream.
    needed: its columns that come out, lower case.
    """

    name: str
    inputs: tuple[Node, ...]
    needed: frozenset[str]
    markers: bool = False

    @property
    def stream(self) -> Source:
        """The stream."""
        (read,) = self.inputs
        assert isinstance(read, Read) and isinstance(read.relation, Source)
        return read.relation

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing(column for column in self.stream.columns if column.name.lower() in self.needed)

    def called(self, name: str) -> "Upserts":
        """Return the table as SQL over it calls it."""
        return replace(self, name=name)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        source = self.stream
        time = None if source.watermark is None else source.watermark.column.lower()
        return {"table of": list(source.key), "delete when": source.deletion, "order": time,
                "columns": sorted(self.needed)}  # fmt: skip

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        source = self.stream
        time = [source.watermark.column] if source.watermark is not None else []
        return [
            f"Table {source.name}",
            f"  primary key: {', '.join(source.key)}",
            *([f"  delete when: {source.deletion}"] if source.deletion is not None else []),
            f"  the last change of a key counts: by {', then '.join([*time, 'the order in which they come'])}",
            "  state: the row of every key; deletions until the watermark has passed them",
        ]

    def goes_by_time(self, number: int) -> bool:
        """Tell whether what an input says of event time counts."""
        return True
