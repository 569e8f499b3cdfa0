"""Arrow extension types: convert them to schema metadata and back.

A schema keeps the name and the serialized parameters of an extension type as field metadata, under
the two keys that Arrow defines for it, and stores values as the type's storage type.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping

import pyarrow as pa

NAME_KEY = "ARROW:extension:name"
PARAMETERS_KEY = "ARROW:extension:metadata"

ARROW_JSON = "arrow.json"
LANCE_JSON = "lance.json"

_OWN_TYPES: dict[str, type[pa.ExtensionType]] = {}


def register_extension_type(name: str, extension_type: type[pa.ExtensionType]) -> None:
    """Let reads return an extension type that nobody has registered with Arrow.

    pylance registers types with the same names as it is imported, and fails if they exist already.
    """
    _OWN_TYPES[name] = extension_type


def is_extension(arrow: pa.DataType) -> bool:
    """True if ``arrow`` is a registered extension type; field metadata is not considered."""
    return isinstance(arrow, pa.BaseExtensionType)


def storage_of(arrow: pa.DataType) -> pa.DataType:
    """The storage type of an extension type; any other type is returned unchanged."""
    return arrow.storage_type if is_extension(arrow) else arrow


def metadata_of(field: pa.Field) -> Mapping[bytes, bytes]:
    """The metadata of ``field``, with both extension keys if its type is an extension type."""
    own: Mapping[bytes, bytes] = field.metadata or {}
    if not is_extension(field.type):
        return own
    return {**own, **_exported_metadata(field)}


def resolved(field: pa.Field) -> pa.Field:
    """``field`` with the extension type that its metadata names, if that type is registered.

    The field is returned unchanged, with its metadata, if the extension is not registered or does
    not accept the parameters or the storage type. Arrow treats unknown extensions the same way.
    A type of `register_extension_type` need not be registered with Arrow.
    """
    try:
        copy = pa.ipc.read_schema(pa.schema([field]).serialize()).field(0)
    except Exception:  # a registered type runs its own code here, which may raise anything
        return field
    marks = dict(copy.metadata or {})
    own = _OWN_TYPES.get(marks.pop(NAME_KEY.encode(), b"").decode())
    if own is None or is_extension(copy.type):
        return copy
    try:
        type_ = own.__arrow_ext_deserialize__(copy.type, marks.pop(PARAMETERS_KEY.encode(), b""))
    except Exception:  # as above: the parameters are those of whoever wrote the table
        return copy
    if type_.storage_type != copy.type:
        return copy
    return pa.field(copy.name, type_, copy.nullable, marks or None)


class _ArrowSchema(ctypes.Structure):
    """The beginning of ``struct ArrowSchema`` of the Arrow C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


def _exported_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Metadata from the C data interface: the only place where pyarrow has extension parameters."""
    capsule = field.__arrow_c_schema__()  # owns the memory that is read below
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    address = _ArrowSchema.from_address(pointer_of(capsule, b"arrow_schema")).metadata
    if address is None:
        return {}
    # The int32 number of pairs, then an int32 length and the bytes of each key and each value.
    texts = []
    (pairs,) = struct.unpack("=i", ctypes.string_at(address, 4))
    address += 4
    for _ in range(2 * pairs):
        (length,) = struct.unpack("=i", ctypes.string_at(address, 4))
        texts.append(ctypes.string_at(address + 4, length))
        address += 4 + length
    return dict(zip(texts[::2], texts[1::2], strict=True))
