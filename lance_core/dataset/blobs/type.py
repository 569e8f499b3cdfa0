"""Version 2 blobs in Arrow: the extension type, its arrays, and the values users pass to them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa

from lance_core.lazy_dataclass import dataclass
from lance_core.schema import BLOB_V2
from lance_core.schema.blobs.fields import GIVEN_V2, THRESHOLD_KEYS, is_given

DEFAULT_BLOB_BUFFER_SIZE = 512 * 1024
"""Default number of bytes that a `BlobFile` reads ahead."""

_MAX_SIZE = (1 << 64) - 1


@dataclass(frozen=True)
class Blob:
    """A value of a blob column: ``data``, or the object at ``uri``, or a byte range of that object.

    ``position`` and ``size`` of the range are in bytes. None stands for a null blob; `empty`
    returns a blob of no bytes. Raises ``ValueError`` for any other combination.
    """

    data: bytes | None = None
    uri: str | None = None
    position: int | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if self.uri == "":
            raise ValueError("the uri of a blob cannot be empty")
        if (self.data is None) == (self.uri is None):
            raise ValueError("a blob has either data or a uri; a null blob is None")
        if (self.position is None) != (self.size is None):
            raise ValueError("a blob has both position and size, or neither")
        if self.position is not None and self.uri is None:
            raise ValueError("only a blob with a uri has position and size")
        if self.size == 0:
            raise ValueError("the range of a blob has a size greater than zero")

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Blob:
        """A blob with the bytes ``data``."""
        return Blob(data=bytes(data))

    @staticmethod
    def from_uri(uri: str, position: int | None = None, size: int | None = None) -> Blob:
        """A blob that references the object at ``uri``, or ``size`` bytes of it at ``position``."""
        if (position is not None and position < 0) or (size is not None and size < 0):
            raise ValueError("position and size of a blob cannot be negative")
        return Blob(uri=uri, position=position, size=size)

    @staticmethod
    def empty() -> Blob:
        """A blob of no bytes."""
        return Blob(data=b"")


BlobLike: TypeAlias = Blob | bytes | bytearray | memoryview | str | None
"""A value that `blob_array` accepts: a `Blob`, bytes, a URI as ``str``, or None for null."""


class BlobType(pa.ExtensionType):  # type: ignore[misc]  # pyarrow is not typed
    """The Arrow extension type of version 2 blobs, for writes.

    Its storage is a struct of data, uri, position and size, or of data and uri only. Reads do not
    return this type but descriptions (struct) or bytes (large_binary).
    """

    def __init__(self) -> None:
        super().__init__(GIVEN_V2, BLOB_V2)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> BlobType:
        if not is_given(storage_type) or not all(storage_type.field(i).nullable for i in range(2)):
            raise TypeError(
                f"blobs are structs of data, uri, position and size, not {storage_type}"
            )
        made = cls.__new__(cls)
        pa.ExtensionType.__init__(made, storage_type, BLOB_V2)
        return made

    def __arrow_ext_class__(self) -> type[BlobArray]:
        return BlobArray

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).__arrow_ext_deserialize__, (self.storage_type, b"")


class BlobArray(pa.ExtensionArray):  # type: ignore[misc]  # pyarrow is not typed
    """An array of `BlobType`."""

    @classmethod
    def from_pylist(cls, values: Iterable[BlobLike]) -> BlobArray:
        """The array of ``values``; see `blob_array` for valid values and errors."""
        blobs = [_as_blob(value) for value in values]
        members = [pa.array(_member(blobs, part.name), part.type) for part in GIVEN_V2]
        mask = pa.array([blob is None for blob in blobs], pa.bool_())
        storage = pa.StructArray.from_arrays(members, fields=list(GIVEN_V2), mask=mask)
        made: BlobArray = pa.ExtensionArray.from_storage(BlobType(), storage)
        return made


def _member(blobs: list[Blob | None], name: str) -> Iterator[object]:
    for blob in blobs:
        yield None if blob is None else getattr(blob, name)


def _as_blob(value: BlobLike) -> Blob | None:
    if value is None or isinstance(value, Blob):
        return value
    if isinstance(value, str):
        return Blob(uri=value)
    if isinstance(value, bytes | bytearray | memoryview):
        return Blob(data=bytes(value))
    raise TypeError(f"blobs are bytes, texts (URIs), Blob or None, not {type(value)}")


def blob_array(values: Iterable[BlobLike]) -> BlobArray:
    """An array for a blob column, from bytes, URIs as ``str``, `Blob` objects, and None for null.

    Raises ``TypeError`` for a value of another type, ``ValueError`` for an empty URI.
    """
    return BlobArray.from_pylist(values)


def blob_field(
    name: str,
    *,
    nullable: bool = True,
    inline_size_threshold: int | None = None,
    dedicated_size_threshold: int | None = None,
    pack_file_size_threshold: int | None = None,
) -> pa.Field:
    """The field of a blob column. Thresholds are in bytes.

    A blob larger than ``inline_size_threshold`` (64 KiB) is stored in a side file, not in the data
    file. A blob larger than ``dedicated_size_threshold`` (4 MiB) gets a side file of its own.
    Other side files hold several blobs, up to ``pack_file_size_threshold`` (1 GiB).
    """
    thresholds = {
        "inline": inline_size_threshold,
        "dedicated": dedicated_size_threshold,
        "pack": pack_file_size_threshold,
    }
    metadata = {
        THRESHOLD_KEYS[kind]: str(_checked(kind, size))
        for kind, size in thresholds.items()
        if size is not None
    }
    return pa.field(name, BlobType(), nullable, metadata or None)


def _checked(kind: str, size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"the {kind} threshold is a whole number, not {type(size).__name__}")
    if size < 0 or (size == 0 and kind != "inline"):
        raise ValueError(f"the {kind} threshold must be positive")
    if size > _MAX_SIZE:
        raise OverflowError(f"the {kind} threshold has more than 64 bits")
    return size


with contextlib.suppress(pa.ArrowKeyError):  # another library has registered the type's name
    pa.register_extension_type(BlobType())
