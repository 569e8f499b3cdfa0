"""The details of a JSON index: its path, the type of its values, and the index over them.

They are a ``JsonIndexDetails`` (``index.proto``). Many writers do not state the type of the values
(``target_data_type``); then the files show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from google.protobuf.any_pb2 import Any as AnyMessage

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.indices import (
    IndexType,
    IndexTypeSpec,
    JsonIndexDetails,
    JsonTargetDataType,
    details_key,
    parse_details_message,
)
from lance_core.hookspecs.json_values import field_names
from lance_core.hookspecs.options import shortened
from lance_core.hookspecs.stores import resolve_factory
from lance_core_indices.plugin import SCALAR_TYPES

PATH, TARGET, DATA_TYPE = "path", "target_index_type", "target_data_type"
TARGET_PARAMETERS = "target_index_parameters"
"""Names of parameters."""

_NAMES = ("btree", "bitmap", "zonemap", "bloomfilter", "ngram")

TARGETS: Mapping[str, IndexTypeSpec] = {
    spec.name: spec for spec in SCALAR_TYPES if spec.name in _NAMES
}
"""The types of index over the values, by name."""

_BY_DETAILS = {details_key(spec.details_url): spec for spec in TARGETS.values()}

VALUE_TYPES = {
    JsonTargetDataType.JSON_TARGET_DATA_TYPE_BOOLEAN: pa.bool_(),
    JsonTargetDataType.JSON_TARGET_DATA_TYPE_INT64: pa.int64(),
    JsonTargetDataType.JSON_TARGET_DATA_TYPE_FLOAT64: pa.float64(),
    JsonTargetDataType.JSON_TARGET_DATA_TYPE_UTF8: pa.string(),
}
"""The types of values, by their numbers in details."""

TYPE_NAMES: Mapping[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
}
"""The types of values, by the names that the functions ``json_get_…`` have for them."""

_TYPE_NUMBERS = {kind: number for number, kind in VALUE_TYPES.items()}


@dataclass(frozen=True, slots=True, eq=False)
class JsonDetails:
    """The details of a JSON index.

    ``path``: as the creator has written it. ``spec``, ``target``: the type of index over the
    values. ``target_details``: the details of that index. ``kind``: the type of the values; None if
    it is not stated, or if the index has no value.
    """

    path: str
    spec: IndexTypeSpec
    target_details: bytes = b""
    kind: pa.DataType | None = None

    @property
    def target(self) -> IndexType:
        """The implementation of the type of index over the values."""
        return target_type(self.spec)

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of `Json` that the details have."""
        names = [name for name, kind in TYPE_NAMES.items() if kind == self.kind]
        parameters = {PATH: self.path, TARGET: self.spec.name}
        return parameters | {DATA_TYPE: names[0]} if names else parameters

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The keys of nested objects that ``path`` names; None for other paths."""
        return field_names(self.path)

    def to_bytes(self) -> bytes:
        """The serialized message."""
        target = AnyMessage(type_url=self.spec.details_url, value=self.target_details)
        number = JsonTargetDataType.JSON_TARGET_DATA_TYPE_UNSPECIFIED
        if self.kind is not None:
            number = _TYPE_NUMBERS[self.kind]
        message = JsonIndexDetails(path=self.path, target_details=target, target_data_type=number)
        return message.SerializeToString(deterministic=True)


@lru_cache(maxsize=64)
def parse_details(details: bytes) -> JsonDetails:
    """The stored details of a JSON index.

    Raises `CorruptFileError` for bytes that are no such details, and `UnsupportedFeatureError` for
    values or an index over them of another type.
    """
    message = parse_details_message(JsonIndexDetails, details)
    url, number = message.target_details.type_url, message.target_data_type
    spec = _BY_DETAILS.get(details_key(url))
    if spec is None:
        raise UnsupportedFeatureError(f"a JSON index over an index of type {shortened(url)}")
    if number and number not in VALUE_TYPES:
        raise UnsupportedFeatureError(f"a JSON index over values of type {number}")
    return JsonDetails(message.path, spec, message.target_details.value, VALUE_TYPES.get(number))


@lru_cache(maxsize=8)
def target_type(spec: IndexTypeSpec) -> IndexType:
    """The implementation of a type of index over values."""
    index_type: IndexType = resolve_factory(spec.factory, f"index type {spec.name!r}")()
    return index_type
