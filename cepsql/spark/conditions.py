"""The conditions of a match program by the rules and types of a Spark session."""

from dataclasses import replace

from pyspark.sql import DataFrame

from cepsql.matching.match_operator import row_layout
from cepsql.pattern.leaf_types import typed_condition
from cepsql.pattern.program import MatchProgram
from cepsql.scalar.tree import Apply, Node, Session, nodes
from cepsql.scalar.types import INTERVAL, TIMESTAMP, UNKNOWN, Type, parse_type
from cepsql.scalar.zone import Zone
from cepsql.spark.rows import layout_columns
from cepsql.spark.settings import setting
from cepsql.spark.zone import session_zone

_ANSI = "spark.sql.ansi.enabled"
_ANY_ZONE = Zone((0,), (0, 1))


def in_session(frame: DataFrame, program: MatchProgram) -> MatchProgram:
    """Return a program over the rows of a frame that computes by the rules of the frame's session.

    Raises NotSupportedError for a condition that cannot be computed as Spark would on the types of the columns.
    """
    conditions = [condition for condition in program.conditions if condition is not None]
    spark = frame.sparkSession
    ansi = setting(spark, _ANSI).lower() == "true"
    if not conditions:
        return replace(program, session=Session(ansi))
    types = _column_types(frame, program)
    checked = [typed_condition(condition, types, Session(ansi, _ANY_ZONE)) for condition in conditions]
    zoned = any(_reads_clock(node) for condition in checked for node in nodes(condition))
    return replace(program, session=Session(ansi, session_zone(spark) if zoned else Zone()))


def _column_types(frame: DataFrame, program: MatchProgram) -> dict[str, Type]:
    """Return the types that conditions see; `t` is the microseconds of a TIMESTAMP where a condition reads it."""
    fields = frame.selectExpr(*layout_columns(frame, row_layout(program))).schema.fields
    return {field.name: _type(field.dataType.simpleString()) for field in fields} | {"t": TIMESTAMP}


def _type(name: str) -> Type:
    kind = parse_type(name)
    # Rows carry intervals without their units, and other types only to be handed on.
    return INTERVAL if kind.name == "interval" else Type(name) if kind == UNKNOWN else kind


def _reads_clock(node: Node) -> bool:
    """Tell whether a node needs to know what clocks show at an instant."""
    if not isinstance(node, Apply):
        return False
    if node.operation in ("add interval", "sub interval"):
        return node.type == TIMESTAMP
    return node.operation in ("cast", "try_cast") and (node.type == TIMESTAMP) != (node.arguments[0].type == TIMESTAMP)
