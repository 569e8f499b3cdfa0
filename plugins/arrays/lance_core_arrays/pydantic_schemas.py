"""Schemas of tables from models of pydantic, and fields of vectors for such models."""

from __future__ import annotations

import re
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, datetime
from enum import Enum
from typing import Any, Union, get_args, get_origin

import pyarrow as pa
import pydantic
from pydantic_core import CoreSchema, core_schema

from lance_core.errors import InvalidInputError

_FLOAT = pa.float32()
_PLAIN = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    date: pa.date32(),
}


class FixedSizeListMixin(ABC):
    """The base class of the types that `Vector` and `MultiVector` return."""

    @staticmethod
    @abstractmethod
    def dim() -> int:
        """The number of values of a vector."""

    @staticmethod
    @abstractmethod
    def value_arrow_type() -> pa.DataType:
        """The type of a value."""

    @staticmethod
    @abstractmethod
    def nullable() -> bool:
        """True if a row may have no vector."""

    @staticmethod
    def is_multi_vector() -> bool:
        """True if a row has a list of vectors."""
        return False


def Vector(dim: int, value_type: pa.DataType = _FLOAT, nullable: bool = True) -> Any:  # noqa: N802
    """The type of a field with a vector of ``dim`` values, a fixed-size list in Arrow.

    ``value_type``: the Arrow type of a value, by default ``float32``.
    """
    return _vectors(dim, value_type, nullable, several=False)


def MultiVector(dim: int, value_type: pa.DataType = _FLOAT, nullable: bool = True) -> Any:  # noqa: N802
    """The type of a field with any number of vectors of ``dim`` values; see `Vector`."""
    return _vectors(dim, value_type, nullable, several=True)


def _vectors(dim: int, value_type: pa.DataType, nullable: bool, several: bool) -> Any:
    name = "MultiVector" if several else "FixedSizeList"

    class Values(list[Any], FixedSizeListMixin):
        """The values of a field."""

        def __repr__(self) -> str:
            return f"{name}(dim={dim})"

        @staticmethod
        def dim() -> int:
            return dim

        @staticmethod
        def value_arrow_type() -> pa.DataType:
            return value_type

        @staticmethod
        def nullable() -> bool:
            return nullable

        @staticmethod
        def is_multi_vector() -> bool:
            return several

        @classmethod
        def __get_pydantic_core_schema__(
            cls, source: Any, handler: pydantic.GetCoreSchemaHandler
        ) -> CoreSchema:
            vector = core_schema.list_schema(
                core_schema.float_schema(), min_length=dim, max_length=dim
            )
            values = core_schema.list_schema(vector) if several else vector
            return core_schema.no_info_before_validator_function(
                _as_list, core_schema.no_info_after_validator_function(cls, values)
            )

    Values.__name__ = Values.__qualname__ = name
    return Values


def _as_list(value: Any) -> Any:
    """Arrays of numpy and ranges as lists."""
    return list(value) if isinstance(value, range) else getattr(value, "tolist", lambda: value)()


def pydantic_to_schema(model: type[pydantic.BaseModel]) -> pa.Schema:
    """The Arrow schema of the rows that instances of ``model`` stand for.

    A nested model becomes a struct; an `Enum` of strings a dictionary, another one the type of its
    values; a ``datetime`` a timestamp, in the zone ``Field(json_schema_extra={"tz": zone})`` if it
    has one. Only fields that may be None are nullable. Raises ``TypeError`` for other types.
    """
    return pa.schema(_fields(model))


def is_nullable(field: Any) -> bool:
    """True if a field of a model may be None."""
    inner, optional = _without_none(field.annotation)
    return optional or (_is_class(inner, FixedSizeListMixin) and inner.nullable())


def get_extras(field: Any, key: str) -> Any:
    """The value of ``key`` in the ``json_schema_extra`` of a field; None without it."""
    extra = field.json_schema_extra
    return extra.get(key) if isinstance(extra, dict) else None


def from_pydantic_model(
    model_class: type[pydantic.BaseModel], data: Sequence[pydantic.BaseModel], uri: Any = None
) -> tuple[pa.Table, Any]:
    """The rows of instances of a model, and the URI of their table.

    Without ``uri`` it is the name of the class in snake case. Raises ``TypeError`` for data of
    other classes and `InvalidInputError` for no data.
    """
    if not _is_class(model_class, pydantic.BaseModel):
        raise TypeError(f"model_class must be a class of pydantic models, got {model_class!r}")
    for row in data:
        if not isinstance(row, model_class):
            raise TypeError(f"data must be of {model_class.__name__}, got {type(row).__name__}")
    if not data:
        raise InvalidInputError("data must have at least one instance of the model")
    if uri is None:
        uri = re.sub(r"(?<!^)(?=[A-Z])", "_", model_class.__name__).lower()
    rows = [row.model_dump() for row in data]
    return pa.Table.from_pylist(_plain(rows), schema=pydantic_to_schema(model_class)), uri


def _plain(value: Any) -> Any:
    """``value`` with the values of enumerations."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _fields(model: type[pydantic.BaseModel]) -> list[pa.Field]:
    return [
        pa.field(name, _arrow(_without_none(field.annotation)[0], field), is_nullable(field))
        for name, field in model.model_fields.items()
    ]


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type of an annotation without None, and whether it had None."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    others = [each for each in get_args(annotation) if each is not type(None)]
    optional = len(others) < len(get_args(annotation))
    return (others[0] if len(others) == 1 else annotation), optional


def _arrow(annotation: Any, field: Any) -> pa.DataType:
    if get_origin(annotation) in (list, tuple):
        return _list(annotation, field)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation is datetime:
        return pa.timestamp("us", tz=get_extras(field, "tz"))
    if _is_class(annotation, pydantic.BaseModel):
        return pa.struct(_fields(annotation))
    if _is_class(annotation, FixedSizeListMixin):
        vector = pa.list_(annotation.value_arrow_type(), annotation.dim())
        return pa.list_(vector) if annotation.is_multi_vector() else vector
    if _is_class(annotation, Enum):
        return _enumeration(annotation, field)
    raise TypeError(f"a field of type {annotation} has no Arrow type")


def _list(annotation: Any, field: Any) -> pa.DataType:
    members = get_args(annotation)
    if not members or isinstance(members[0], typing.TypeVar):
        raise TypeError(f"{annotation} does not say the type of its items: write list[int]")
    item, _ = _without_none(members[0])
    return pa.list_(_arrow(item, field))


def _enumeration(annotation: type[Enum], field: Any) -> pa.DataType:
    types_of_values = {type(member.value) for member in annotation}
    if types_of_values == {str}:
        return pa.dictionary(pa.int32(), pa.string())
    if len(types_of_values) > 1 or not types_of_values:
        return pa.string()
    return _arrow(types_of_values.pop(), field)


def _is_class(value: Any, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)
