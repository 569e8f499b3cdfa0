"""Side files of blobs, written before the data file whose rows refer to them.

A writer of a `lance_core.file.LanceFileSession` stores bytes and returns descriptors of them; an
array of descriptors is then written as a column of the data file with the same path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.stores import ObjectStore, ObjectWriter
from lance_core.hookspecs.tools import PREPARED_V2, BlobKind, side_file_path

_MAX_ID = (1 << 32) - 1
_BINARY = (pa.binary(), pa.large_binary())


@dataclass(frozen=True, slots=True)
class BlobDescriptor:
    """Where a blob is: ``size`` bytes at ``position`` of the side file ``blob_id``.

    ``kind`` is None for null. ``data``: the bytes of a blob that the data file will hold itself.
    """

    kind: BlobKind | None
    blob_id: int | None = None
    position: int | None = None
    size: int | None = None
    data: bytes | None = None


_NULL = BlobDescriptor(None)


class _SideFile:
    """A side file under construction."""

    def __init__(self, store: ObjectStore, data_file: str, blob_id: int) -> None:
        _check_id(blob_id)
        if not data_file.endswith(".lance"):
            raise InvalidInputError(
                f"the path of a data file ends with '.lance', not {data_file!r}"
            )
        self._path, self._blob_id = side_file_path(data_file, blob_id), blob_id
        self._writer: ObjectWriter | None = store.open_writer(self._path)

    @property
    def blob_id(self) -> int:
        """The number of the side file."""
        return self._blob_id

    @property
    def path(self) -> str:
        """The path of the side file, relative to the base of the session."""
        return self._path

    def _open(self) -> ObjectWriter:
        if self._writer is None:
            raise InvalidInputError(f"the writer of {self._path!r} is finished")
        return self._writer

    def _close(self) -> int:
        """Make the file visible; returns its bytes."""
        writer, self._writer = self._open(), None
        writer.close()
        return writer.tell()


class PackedBlobWriter(_SideFile):
    """Writes a side file with several blobs."""

    def __init__(self, store: ObjectStore, data_file: str, blob_id: int) -> None:
        super().__init__(store, data_file, blob_id)
        self._descriptors: list[BlobDescriptor] = []
        self._field: pa.Field | None = None

    @property
    def field(self) -> pa.Field:
        """The field of the array that `finish_array` has returned."""
        if self._field is None:
            raise InvalidInputError("call finish_array first")
        return self._field

    def write_blob(self, data: bytes | bytearray | memoryview) -> None:
        """Append a blob. Raises ``TypeError`` unless ``data`` is bytes."""
        writer = self._open()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a blob is bytes, not {type(data).__name__}")
        start = writer.tell()
        writer.write(bytes(data))
        size = writer.tell() - start
        self._descriptors.append(BlobDescriptor(BlobKind.PACKED, self.blob_id, start, size))

    def write_blobs(self, payloads: pa.Array | pa.ChunkedArray) -> None:
        """Append the values of a binary array; a null becomes a null descriptor.

        Raises `InvalidInputError` for arrays of other types.
        """
        self._open()
        type_ = getattr(payloads, "type", None)
        is_fixed = type_ is not None and pa.types.is_fixed_size_binary(type_)
        if not is_fixed and type_ not in _BINARY and str(type_) != "binary_view":
            raise InvalidInputError(f"blobs are an array of binary values, not {type_}")
        for value in payloads:
            if value.is_valid:
                self.write_blob(value.as_buffer().to_pybytes())
            else:
                self._descriptors.append(_NULL)

    def finish(self) -> list[BlobDescriptor]:
        """Make the file visible; returns the descriptors of all blobs, in their order."""
        self._close()
        return self._descriptors

    def finish_array(self, field_name: str) -> pa.StructArray:
        """As `finish`, but returns the descriptors as an array for a column of this name."""
        builder = BlobDescriptorArrayBuilder(field_name)
        builder.extend(self.finish())
        self._field = builder.field
        return builder.finish()


class DedicatedBlobWriter(_SideFile):
    """Writes a side file with one blob, part after part."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes to the blob. Raises ``TypeError`` unless ``data`` is bytes."""
        writer = self._open()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a blob is bytes, not {type(data).__name__}")
        writer.write(bytes(data))

    def finish(self) -> BlobDescriptor:
        """Make the file visible; returns the descriptor of the blob."""
        return BlobDescriptor(BlobKind.DEDICATED, self.blob_id, None, self._close())


class BlobDescriptorArrayBuilder:
    """Builds the array of a column of blobs that are in side files, value by value."""

    def __init__(self, column: str) -> None:
        marks = {"ARROW:extension:name": "lance.blob.v2"}
        self._field = pa.field(column, PREPARED_V2, metadata=marks)
        self._values: list[BlobDescriptor] | None = []

    @property
    def field(self) -> pa.Field:
        """The field of the column, for the schema of the data file."""
        return self._field

    def extend_packed(self, blob_id: int, offsets: Sequence[int], sizes: Sequence[int]) -> None:
        """Append blobs of the side file ``blob_id`` by their positions and sizes in bytes."""
        if len(offsets) != len(sizes):
            raise InvalidInputError(f"{len(offsets)} offsets do not fit {len(sizes)} sizes")
        _check_id(blob_id)
        for offset, size in zip(offsets, sizes, strict=True):
            _check_numbers(offset, size)
            self.append(BlobDescriptor(BlobKind.PACKED, blob_id, offset, size))

    def append_dedicated(self, blob_id: int, size: int) -> None:
        """Append the blob that is the whole side file ``blob_id``, of ``size`` bytes."""
        _check_id(blob_id)
        _check_numbers(size)
        self.append(BlobDescriptor(BlobKind.DEDICATED, blob_id, None, size))

    def append_managed(
        self, uri: str, offset: int, size: int, *, base_id: int | None = None
    ) -> None:
        """Raise `UnsupportedFeatureError`: managed blobs are not supported."""
        raise UnsupportedFeatureError("managed blobs are not supported")

    def append(self, value: BlobDescriptor) -> None:
        """Append a descriptor."""
        if not isinstance(value, BlobDescriptor):
            raise TypeError(f"a BlobDescriptor is needed, not {type(value).__name__}")
        self._open().append(value)

    def extend(self, values: Iterable[BlobDescriptor]) -> None:
        """Append descriptors."""
        for value in values:
            self.append(value)

    def append_inline(self, data: bytes) -> None:
        """Append a blob whose bytes the data file will hold."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a blob is bytes, not {type(data).__name__}")
        self.append(BlobDescriptor(BlobKind.INLINE, data=bytes(data)))

    def append_null(self) -> None:
        """Append null."""
        self.append(_NULL)

    def finish(self) -> pa.StructArray:
        """The array of all values, for the column `field` of a data file."""
        values = self._open()
        self._values = None
        names = ("kind", "data", None, "blob_id", "size", "position")
        columns: list[Any] = [
            [None if name is None else getattr(value, name) for value in values] for name in names
        ]
        members = [
            pa.array(column, member.type)
            for column, member in zip(columns, PREPARED_V2, strict=True)
        ]
        mask = pa.array([value.kind is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(members, fields=list(PREPARED_V2), mask=mask)

    def _open(self) -> list[BlobDescriptor]:
        if self._values is None:
            raise InvalidInputError("this builder is finished")
        return self._values


def _check_id(blob_id: int) -> None:
    if not isinstance(blob_id, int) or not 0 < blob_id <= _MAX_ID:
        raise InvalidInputError(
            f"the number of a side file is from 1 to {_MAX_ID}, got {blob_id!r}"
        )


def _check_numbers(*numbers: int) -> None:
    for number in numbers:
        if not isinstance(number, int) or not 0 <= number < 1 << 63:
            raise InvalidInputError(f"positions and sizes are bytes from 0 on, got {number!r}")
