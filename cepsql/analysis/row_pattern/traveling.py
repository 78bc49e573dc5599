"""What travels with each row through the shuffle: columns and predicates that Spark computes before it."""

from dataclasses import dataclass, field

from cepsql.errors import NotSupportedError
from cepsql.ordered.row_layout import Column
from cepsql.pattern.program import MAX_PREDICATES


@dataclass
class Traveling:
    """The columns and predicates that Spark must compute before the shuffle, gathered while clauses are lowered.

    time:     the SQL of the event-time column if it is a TIMESTAMP: it travels as `t` already.
    computed: the columns of expressions over values of one row, as PREV(x) + 1, where x + 1 travels.
    """

    time: str | None = None
    values: list[Column] = field(default_factory=list)
    predicates: list[str] = field(default_factory=list)
    computed: set[str] = field(default_factory=set)

    def value(self, sql: str) -> str:
        """Return the name of the travelling column that holds `sql`."""
        if sql == self.time:
            return "t"
        for column in self.values:
            if column.sql == sql:
                return column.name
        self.values.append(Column(f"v{len(self.values)}", sql))
        return self.values[-1].name

    def predicate(self, sql: str) -> int:
        """Return the bit of the mask that holds `sql`."""
        if sql not in self.predicates:
            if len(self.predicates) == MAX_PREDICATES:
                raise NotSupportedError(f"DEFINE has more than {MAX_PREDICATES} different conditions on single rows")
            self.predicates.append(sql)
        return self.predicates.index(sql)
