"""Details of an index: the message that a manifest stores about it, besides its files.

An index type returns the serialized message from `IndexType.build`, and gets it back whenever the
index is used; its type URL is `IndexTypeSpec.details_url`. A type of one's own may store any bytes.
The messages of the format are the attributes ``InvertedIndexDetails``, ``JsonIndexDetails``,
``JsonTargetDataType`` (an enumeration), ``VectorIndexDetails`` and ``ZoneMapIndexDetails`` of this
module; other types of the format store empty ones. ``IVF`` and ``Tensor`` are messages in the files
of vector indices.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message

from lance_core.errors import CorruptFileError
from lance_core.table.indices.index_metadata import details_key
from lance_core.table.unknown_fields import parse

if TYPE_CHECKING:
    from lance_core._pb.index_old_pb2 import InvertedIndexDetails, ZoneMapIndexDetails
    from lance_core._pb.index_pb2 import (
        IVF,
        JsonIndexDetails,
        JsonTargetDataType,
        Tensor,
        VectorIndexDetails,
    )

__all__ = [
    "IVF",
    "InvertedIndexDetails",
    "JsonIndexDetails",
    "JsonTargetDataType",
    "Tensor",
    "VectorIndexDetails",
    "ZoneMapIndexDetails",
    "details_key",
    "parse_details_message",
    "parse_message",
]

M = TypeVar("M", bound=Message)

_MODULES = {
    "IVF": "lance_core._pb.index_pb2",
    "InvertedIndexDetails": "lance_core._pb.index_old_pb2",
    "JsonIndexDetails": "lance_core._pb.index_pb2",
    "JsonTargetDataType": "lance_core._pb.index_pb2",
    "Tensor": "lance_core._pb.index_pb2",
    "VectorIndexDetails": "lance_core._pb.index_pb2",
    "ZoneMapIndexDetails": "lance_core._pb.index_old_pb2",
}
"""The modules of the messages, each imported with the first index that needs it."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def parse_details_message(kind: type[M], details: bytes) -> M:
    """``details`` as a message of type ``kind``.

    Raises `CorruptFileError` that names the field of the manifest.
    """
    return parse(kind, details, "IndexMetadata.index_details")


def parse_message(kind: type[M], data: bytes, path: str, field: str) -> M:
    """``data``, read from the file at ``path``, as a message of type ``kind``.

    Raises `CorruptFileError` that names the file and ``field``.
    """
    try:
        return parse(kind, data, field)
    except CorruptFileError as error:
        raise error.at(path) from None
