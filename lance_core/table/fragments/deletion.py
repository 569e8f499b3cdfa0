"""Content of deletion files: the offsets of a fragment's deleted rows.

Two file types (``DeletionFile`` in table.proto): an Arrow IPC file with one batch of one column
``row_id: uint32 not null`` in any order, and a portable 32-bit Roaring bitmap. In memory: sorted
distinct uint32 physical row offsets. Before the footer of Arrow, and behind the bitmap, is a seal
(`lance_core.checksums.seal`), which other readers skip.
"""

from __future__ import annotations

import struct
from array import array

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.checksums.seal import SEAL_BYTES, has_seal, seal
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.table.fragments.deletion_file import DeletionFileType
from lance_core.table.fragments.ipc_sizes import batch_size

RowOffsets = npt.NDArray[np.uint32]
"""Physical offsets of rows of a fragment, ascending."""

BITMAP_FROM = 5000
"""Minimum number of deleted rows that are stored as a bitmap; fewer are stored as Arrow.

The minimum is one row higher if the file replaces an older deletion file, as in other writers.
"""

_SCHEMA = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
_ENDING = struct.Struct("<i6s")
"""What an Arrow file ends with: the size of its footer, and ``ARROW1``."""

_ALIGNMENT = 8
_ONE_THREAD = pa.ipc.IpcReadOptions(use_threads=False)
_MEMORY_LIMIT = 1 << 26
_ROARING_VALUES_PER_BYTE = 8


def decode_deletions(
    file_type: DeletionFileType,
    data: pa.Buffer | bytes,
    physical_rows: int,
    num_deleted_rows: int | None = None,
    path: str = "",
) -> RowOffsets:
    """Decode the deleted row offsets of a fragment of ``physical_rows`` rows.

    ``num_deleted_rows`` is the manifest's count or None. Raises `CorruptFileError` if the file is
    malformed, contains an offset outside of the fragment, or contradicts the count, and
    `UnsupportedFeatureError` if a small file would take more than 64 MiB of memory.
    """
    view = memoryview(data)
    try:
        if file_type is DeletionFileType.ARROW_ARRAY:
            has_seal(view, _footer_start(view) - SEAL_BYTES)
            offsets = _decode_arrow(view)
        else:
            end = len(view) - SEAL_BYTES
            offsets = _decode_bitmap(bytes(view[:end] if has_seal(view, end) else view))
        if len(offsets) and int(offsets[-1]) >= physical_rows:
            raise CorruptFileError(f"deleted row {offsets[-1]} is outside of {physical_rows} rows")
        if num_deleted_rows is not None and len(offsets) != num_deleted_rows:
            raise CorruptFileError(
                f"{len(offsets)} rows are deleted, the manifest counts {num_deleted_rows}"
            )
    except CorruptFileError as error:
        raise error.at(path) from None
    return offsets


def encode_deletions(offsets: RowOffsets, grown: bool = False) -> tuple[DeletionFileType, bytes]:
    """Encode sorted distinct offsets; their number decides the file type (`BITMAP_FROM`).

    ``grown`` is True if the file replaces an older deletion file of the fragment. Raises
    `InvalidInputError` if the offsets are not sorted distinct uint32 values.
    """
    if offsets.dtype != np.uint32 or (offsets[1:] <= offsets[:-1]).any():
        raise InvalidInputError("deleted row offsets must be sorted distinct uint32 values")
    if len(offsets) >= BITMAP_FROM + grown:
        bitmap = _encode_bitmap(offsets)
        return DeletionFileType.BITMAP, bitmap + seal(bitmap)
    return DeletionFileType.ARROW_ARRAY, _encode_arrow(offsets)


def _footer_start(view: memoryview) -> int:
    """The position of the footer of an Arrow file; at most 0 if it has none."""
    end = len(view) - _ENDING.size
    return end - int(_ENDING.unpack_from(view, end)[0]) if end >= 0 else 0


def _decode_arrow(view: memoryview) -> RowOffsets:
    try:
        reader = pa.ipc.open_file(pa.py_buffer(view), options=_ONE_THREAD)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptFileError(f"the deletion file is not an Arrow file: {error}") from None
    if not reader.schema.equals(_SCHEMA):
        raise CorruptFileError(f"the schema is {_short(reader.schema)} instead of one row_id")
    if reader.num_record_batches != 1:
        raise CorruptFileError(
            f"the deletion file has {reader.num_record_batches} batches, expected 1"
        )
    size = batch_size(view)
    if max(size.unpacked_bytes, 4 * size.rows) > max(_MEMORY_LIMIT, 32 * len(view)):
        raise UnsupportedFeatureError(
            f"a deletion file of {len(view)} bytes unpacks to {size.unpacked_bytes}"
        )
    try:
        batch = reader.get_batch(0)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptFileError(f"the batch cannot be read: {error}") from None
    column = batch.column(0)
    if column.null_count:
        raise CorruptFileError("a deleted row is null")
    offsets = column.buffers()[1]
    if offsets is None:  # there are no rows
        return np.empty(0, np.uint32)
    # `to_numpy` of Arrow imports pandas where that is installed, which takes 200 ms.
    return np.unique(np.frombuffer(offsets, np.uint32, len(column), 4 * column.offset))


def _decode_bitmap(data: bytes) -> RowOffsets:
    from pyroaring import BitMap

    try:
        bitmap = BitMap.deserialize(data)
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise CorruptFileError(f"the deletion file is not a Roaring bitmap: {error}") from None
    if len(bitmap) > max(_MEMORY_LIMIT // 4, _ROARING_VALUES_PER_BYTE * len(data)):
        raise UnsupportedFeatureError(
            f"a deletion file of {len(data)} bytes lists {len(bitmap)} rows"
        )
    offsets = np.array(bitmap.to_array(), dtype=np.uint32)
    if len(offsets) != len(bitmap) or (offsets[1:] <= offsets[:-1]).any():
        raise CorruptFileError("a container of the Roaring bitmap is not sorted")
    return offsets


def _encode_arrow(offsets: RowOffsets) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)  # one column only
    with pa.ipc.new_file(sink, _SCHEMA, options=options) as writer:
        # `pa.array` would import pandas, which takes long.
        column = pa.Array.from_buffers(pa.uint32(), len(offsets), [None, pa.py_buffer(offsets)])
        writer.write_batch(pa.RecordBatch.from_arrays([column], schema=_SCHEMA))
    view = memoryview(sink.getvalue())
    start = len(view) - _ENDING.size - _ENDING.unpack(view[-_ENDING.size :])[0]
    padding = bytes(-(start + SEAL_BYTES) % _ALIGNMENT)  # the footer stays aligned
    before = b"".join([view[:start], padding])
    sealing = seal(before, view[start:])
    return b"".join([before, sealing, view[start:]]) if sealing else bytes(view)


def _encode_bitmap(offsets: RowOffsets) -> bytes:
    """Serialize with array and bitset containers only: some releases cannot read run containers."""
    from pyroaring import BitMap

    # BitMap copies an ``array`` at once; it iterates over any other sequence.
    return bytes(BitMap(array("I", offsets.tobytes()), optimize=False).serialize())


def _short(schema: pa.Schema) -> str:
    return str(schema)[:200].replace("\n", ", ")
