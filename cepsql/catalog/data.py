"""Conversion of definitions to JSON data, and back."""

import types
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from cepsql.catalog import Definition, MaterializedView, RegisteredQuery, Sink, Source, View, ViewGroup
from cepsql.errors import OperationalError

_CLASSES: dict[str, type] = {
    "source": Source,
    "view": View,
    "sink": Sink,
    "query": RegisteredQuery,
    "materialized view": MaterializedView,
    "view group": ViewGroup,
}


def to_data(definition: Definition) -> dict:
    """Return a definition as data: its class and its fields by name.

    >>> to_data(View("v", "SELECT 1 AS a", (), False))["sql"]
    'SELECT 1 AS a'
    """
    name = next(name for name, definition_class in _CLASSES.items() if type(definition) is definition_class)
    return {"is": name, **_data(definition)}


def from_data(data: dict) -> Definition:
    """Return the definition that `to_data` converted to data.

    Raises OperationalError for data of a newer version of cepsql.
    """
    definition_class = _CLASSES.get(data.get("is", ""))
    if definition_class is None:
        raise _newer(data)
    return _object(definition_class, {name: value for name, value in data.items() if name != "is"})


def _data(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _data(getattr(value, field.name)) for field in fields(value)}
    return [_data(item) for item in value] if isinstance(value, tuple) else value


def _object(wanted: Any, data: Any) -> Any:
    if data is None:
        return None
    if get_origin(wanted) is types.UnionType:
        return _object(next(part for part in get_args(wanted) if part is not type(None)), data)
    if get_origin(wanted) is tuple:
        parts = get_args(wanted)
        kinds = [parts[0]] * len(data) if parts[1:] == (...,) else parts
        return tuple(_object(kind, item) for kind, item in zip(kinds, data, strict=True))
    if is_dataclass(wanted) and isinstance(wanted, type):
        hints = get_type_hints(wanted)
        if not data.keys() <= hints.keys():
            raise _newer(data)
        return wanted(**{name: _object(hints[name], value) for name, value in data.items()})
    return data


def _newer(data: dict) -> OperationalError:
    name = data.get("name", "a definition")
    return OperationalError(
        f"the catalog holds {name} as a newer version of cepsql wrote it", hint="use that version here too"
    )
