"""Make an engine from a program's arguments, and open the catalog at a location."""

import os
from collections.abc import Mapping
from types import UnionType
from typing import TYPE_CHECKING

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.catalog.catalog import Catalog
from cepsql.engine.context import Context
from cepsql.engine.engine import Engine
from cepsql.engine.settings import ANSI
from cepsql.errors import InterfaceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connect(
    spark: "SparkSession | None" = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    ansi: bool | None = None,
    catalog: "str | os.PathLike[str] | None" = None,
    restrictions: Restrictions | None = None,
    create_catalog: bool | None = None,
) -> "Engine":
    """Make an engine; no JVM starts before a statement needs one.

    spark:   the session to use, whose tables and views can be queried too. None: a new session, in the Spark of this
             process, which is started if none runs.
    master:  where a new session runs, such as "local[2]" or "spark://host:7077".
    conf:    Spark settings for a new session. If Spark runs already, with another master or another value of a
             setting that is fixed when it starts, the first statement that needs Spark raises OperationalError.
    ansi:    whether 1/0, an overflow or a failed cast is an error (True) or gives NULL (False); it is also set in a
             given session. None: a given session keeps its mode; a new one gives NULL, so that one bad value does not
             end a standing query.
    catalog: where definitions are kept, and shared with other processes: the path of a file, which is made if it is
             missing, or a URL such as postgresql://host/database; default CEPSQL_CATALOG. "": in this process.
    restrictions: what statements and definitions may name; None: everything that this process may use.
    create_catalog: whether a missing catalog is made, True or False. None: yes, unless its file exists and is empty:
             a catalog may have been lost.
    Raises InterfaceError for arguments of another kind, and for master or conf beside a given session; OperationalError
    if the catalog cannot be used.
    """
    _check_kinds({"master": (master, str), "ansi": (ansi, bool), "catalog": (catalog, str | os.PathLike)})
    _check_kinds({"create_catalog": (create_catalog, bool)})
    settings = _settings(conf)
    if spark is not None:
        _check_given(spark, master, conf)
    if ansi is not None:
        settings[ANSI] = str(ansi).lower()
        if spark is not None:
            spark.conf.set(ANSI, settings[ANSI])
    location = os.environ.get("CEPSQL_CATALOG") if catalog is None else os.fspath(catalog)
    return Engine(Context(spark, master, settings, opened_catalog(location, create_catalog), restrictions))


def _check_kinds(arguments: Mapping[str, tuple[object, type | UnionType]]) -> None:
    """Raise InterfaceError for arguments of a wrong type; each may be None."""
    for name, (value, kind) in arguments.items():
        if value is not None and not isinstance(value, kind):
            wanted = "True or False" if kind is bool else "a text"
            raise InterfaceError(f"{name} is {wanted}, not {value!r}")


def _settings(conf: object) -> dict[str, str]:
    """Return Spark settings with values in Spark's syntax."""
    if conf is None:
        return {}
    if not isinstance(conf, Mapping):
        hint = 'such as {"spark.sql.session.timeZone": "UTC"}'
        raise InterfaceError(f"conf is a mapping of settings, not {type(conf).__name__}", hint=hint)
    for key in conf:
        if not isinstance(key, str):
            raise InterfaceError(f"the names of settings are texts, not {key!r}")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def _check_given(spark: object, master: str | None, conf: object) -> None:
    """Raise InterfaceError for an object that is not a session, and for settings beside an existing session."""
    if not hasattr(type(spark), "catalog"):
        hint = 'a master is given as such: connect(master="local[2]")'
        raise InterfaceError(f"spark is a SparkSession, not {type(spark).__name__}", hint=hint)
    for name, value in (("master", master), ("conf", conf)):
        if value:
            raise InterfaceError(
                f"{name} is for a session of the engine's own, and one was given",
                hint="give it to that session, or leave spark out",
            )


def opened_catalog(location: str | None, create: bool | None = None) -> Catalog:
    """Return the catalog at a location, None or "" for one in this process; `create` as for `connect`.

    Raises OperationalError if the catalog can't be used.
    """
    if not location:
        return Catalog()
    from cepsql.catalog.database import Database
    from cepsql.catalog.store import Store

    return Catalog(Store(Database(location, create)))
