"""Lookups of rows of one view by column values, which the store answers without a plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from cepsql.analysis.sql.python_values import python_value
from cepsql.base.cached_property import cached_property
from cepsql.catalog.view_store import ViewSource
from cepsql.language.given_clauses import given_clauses
from cepsql.language.rewriting.file_tables import FILE
from cepsql.language.statements import ParsedQuery
from cepsql.language.stray import HALF_CHARACTER
from cepsql.scalar.types import INTEGERS, STRING, Type, parse_type
from cepsql.views.reading import MOST_BIGINT, constant
from cepsql.views.snapshot import Condition, QuickSelect, Wanted, quick_select, read_cells
from cepsql.views.stored_values import Reader, cell_table, plain_readers, plain_rows

_CLAUSES = {"expressions", "from_", "where"}


@dataclass(frozen=True)
class Lookup:
    """A query for columns of the rows of a view whose other columns equal these values, in the order of the form."""

    form: "LookupForm"
    values: tuple[int | str, ...]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The names and Spark types of the columns that it returns."""
        return self.form.columns

    def table(self) -> pa.Table:
        """Return the rows; times with a zone are in UTC. Raises OperationalError as `read_views`."""
        return cell_table(read_cells(self.form.wanted(self.values)), self.columns)

    def rows_at_once(self) -> list[tuple] | None:
        """Return the rows as Python values if that takes no time, else None."""
        return self.form.rows_at_once(self.values)


@dataclass(frozen=True)
class Equality:
    """An INTEGER or STRING column that equals a constant or a parameter."""

    column: str
    kind: Type
    value: int | str | None
    parameter: str

    def value_in(self, arguments: Mapping[str, object]) -> int | str | None:
        """Return the constant, or the argument of the parameter; None if the store cannot compare it as Spark does."""
        if self.value is not None:
            return self.value
        argument = arguments.get(self.parameter)
        if type(argument) not in (int, str):
            argument = python_value(argument)
        if isinstance(argument, str):
            return argument if self.kind == STRING and HALF_CHARACTER.search(argument) is None else None
        if not isinstance(argument, int) or isinstance(argument, bool) or self.kind == STRING:
            return None
        return argument if abs(argument) < MOST_BIGINT else None


@dataclass(frozen=True)
class LookupForm:
    """The lookup that a query makes for any values of its parameters; `lookup_form` makes it.

    by_key: the equalities cover the whole key, so that there is at most one row.
    """

    view: ViewSource
    columns: tuple[tuple[str, str], ...]
    equalities: tuple[Equality, ...]
    by_key: bool

    def with_values(self, arguments: Mapping[str, object]) -> Lookup | None:
        """Return the lookup for these arguments by parameter name, None for arguments that need a plan."""
        asked = []
        for equality in self.equalities:
            value = equality.value_in(arguments)
            if value is None:
                return None
            asked.append(value)
        return Lookup(self, tuple(asked))

    def wanted(self, values: Sequence[int | str]) -> Wanted:
        """Return the columns and rows to read from the view for these values of the equalities."""
        pairs = zip(self.equalities, values, strict=True)
        conditions = tuple(Condition(equality.column, "=", (value,)) for equality, value in pairs)
        return Wanted(self.view, tuple(name for name, _ in self.columns), conditions)

    def rows_at_once(self, values: Sequence[int | str]) -> list[tuple] | None:
        """Return the rows for these values as Python values if that takes no time, else None."""
        if self._at_once is None:
            return None
        select, readers = self._at_once
        cells = select.rows(values)
        return None if cells is None else plain_rows(cells, readers)

    @cached_property
    def _at_once(self) -> tuple[QuickSelect, tuple[Reader, ...]] | None:
        """The SELECT for the row and the readers of its cells; None if there may be several rows or either takes
        time."""
        select = quick_select(self.wanted([0] * len(self.equalities))) if self.by_key else None
        readers = plain_readers([kind for _, kind in self.columns])
        return None if select is None or readers is None else (select, readers)


def lookup_form(query: ParsedQuery, view_named: Callable[[str], ViewSource | None]) -> LookupForm | None:
    """Return the lookup that a query makes, None for a query of another form, even an invalid one.

    The store compares integers and texts as Spark does, and a column keeps its name and type.
    view_named: returns the view with a name, None for any other name.
    """
    tree = query.expression
    if not isinstance(tree, exp.Select) or query.operators or query.emit is not None or query.windows:
        return None
    if given_clauses(tree) - _CLAUSES or tree.args.get("from_") is None or tree.args.get("where") is None:
        return None
    table = tree.args["from_"].this
    if not isinstance(table, exp.Table) or given_clauses(table) - {"this"} or table.this.meta_get(FILE):
        return None
    view = view_named(table.name)
    if view is None:
        return None
    types = {column.name: parse_type(column.type) for column in view.columns}
    names = _columns(tree.expressions, view)
    equalities = _equalities(tree.args["where"].this, types)
    if names is None or equalities is None or len(set(names)) != len(names):
        return None
    columns = tuple((name, str(types[name])) for name in names)
    key = view.view.key
    by_key = bool(key) and {equality.column for equality in equalities}.issuperset(key)
    return LookupForm(view, columns, equalities, by_key)


def _columns(items: list[exp.Expr], view: ViewSource) -> tuple[str, ...] | None:
    column_names = [column.name for column in view.columns]
    if len(items) == 1 and type(items[0]) is exp.Star and not any(items[0].args.values()):
        return tuple(column_names)
    names = [_name(item) for item in items]
    return tuple(name for name in names if name is not None) if all(name in column_names for name in names) else None


def _name(item: exp.Expr) -> str | None:
    """Return the name of a plain column, None for another expression."""
    return item.name if isinstance(item, exp.Column) and len(item.parts) == 1 else None


def _equalities(tree: exp.Expr, types: dict[str, Type]) -> tuple[Equality, ...] | None:
    equalities = []
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        part = part.unnest()
        name = _name(part.this) if type(part) is exp.EQ else None
        kind = types.get(name or "")
        if name is None or kind is None or not (kind in INTEGERS or kind == STRING):
            return None
        if isinstance(part.expression, exp.Placeholder):
            equalities.append(Equality(name, kind, None, part.expression.name))
        elif (value := constant(part.expression, kind)) is not None:
            equalities.append(Equality(name, kind, value, ""))
        else:
            return None
    return tuple(equalities)
