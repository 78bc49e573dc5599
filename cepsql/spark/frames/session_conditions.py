"""The conditions of a match program by the rules and types of a Spark session."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from cepsql.operators.matching.match_operator import row_layout
from cepsql.pattern.leaf_types import typed_condition
from cepsql.pattern.program import MatchProgram
from cepsql.scalar.arrow.column_values import in_rows
from cepsql.scalar.expressions import Apply, Node, Session, nodes
from cepsql.scalar.types import TIMESTAMP, Type, parse_type
from cepsql.scalar.zone import Zone
from cepsql.spark.frames.operator_rows import layout_fields
from cepsql.spark.jvm.lent_settings import setting
from cepsql.spark.jvm.session_zone import session_zone

_ANSI = "spark.sql.ansi.enabled"
_ANY_ZONE = Zone((0,), (0, 1))


def in_session(frame: DataFrame, program: MatchProgram) -> MatchProgram:
    """Return a program over the rows of a frame that computes by the rules of the frame's session.

    Raises NotSupportedError for a condition that cannot be computed as Spark would on the types of the columns.
    """
    if program.beside:
        first, *others = (in_session(frame, each) for each in program.programs)
        return replace(first, beside=tuple(others))
    conditions = [condition for condition in program.conditions if condition is not None]
    if not conditions:
        return replace(program, session=Session(is_ansi(frame.sparkSession)))
    types = _column_types(frame, program)
    session = session_for(
        frame.sparkSession, lambda any_zone: [typed_condition(c, types, any_zone) for c in conditions]
    )
    intervals = tuple((name, kind) for name, kind in types.items() if kind.name == "interval")
    return replace(program, session=session, intervals=intervals)


def is_ansi(spark: SparkSession) -> bool:
    """Tell whether a session computes by the rules of ANSI mode."""
    return setting(spark, _ANSI).lower() == "true"


def session_for(spark: SparkSession, conditions: Callable[[Session], Iterable[Node]]) -> Session:
    """Return what conditions must know of a session: its time zone only where they read clocks, for it is large.

    conditions: gives them, typed, for a session whose time zone does not matter.
    """
    ansi = is_ansi(spark)
    checked = conditions(Session(ansi, _ANY_ZONE))
    zoned = any(_reads_clock(node) for condition in checked for node in nodes(condition))
    return Session(ansi, session_zone(spark) if zoned else Zone())


def _column_types(frame: DataFrame, program: MatchProgram) -> dict[str, Type]:
    """Return the types that conditions see; `t` is the microseconds of a TIMESTAMP where a condition reads it."""
    fields = layout_fields(frame, row_layout(program))
    return {field.name: value_type(field.dataType) for field in fields} | {"t": TIMESTAMP}


def value_type(spark_type: DataType) -> Type:
    """Return the type by which conditions compute with the values of a column."""
    name = spark_type.simpleString()
    return in_rows(parse_type(name), name)


def _reads_clock(node: Node) -> bool:
    """Tell whether a node needs to know what clocks show at an instant."""
    if not isinstance(node, Apply):
        return False
    if node.operation in ("add interval", "sub interval"):
        return node.type == TIMESTAMP
    return node.operation in ("cast", "try_cast") and (node.type == TIMESTAMP) != (node.arguments[0].type == TIMESTAMP)
