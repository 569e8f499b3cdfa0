"""One encoded array in memory that represents a data file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_core.encodings.decoding import run_decoding
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.base import (
    ArrayEncoder,
    ArrayEncoding,
    EncodeScope,
    PlanScope,
    plan_array,
)
from lance_core.hookspecs.file_versions import DecodeContext, Decoding, FileVersion, RowRange, Rows
from lance_core.hookspecs.stores import ByteRange

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An encoded array: ``data`` is the file, ``buffers`` are those of its only page."""

    data: bytes
    buffers: tuple[ByteRange, ...]
    encoding: ArrayEncoding
    type: pa.DataType
    num_values: int

    @classmethod
    def encode(
        cls, array: pa.Array, encoder: ArrayEncoder, registry: EncodingRegistry
    ) -> StoredArray:
        """Encode ``array`` with ``encoder``."""
        scope = EncodeScope(registry)
        encoding = encoder(array, scope)
        return cls.of(scope.buffers, encoding, array.type, len(array))

    @classmethod
    def of(
        cls,
        buffers: Sequence[pa.Buffer | bytes],
        encoding: ArrayEncoding,
        type_: pa.DataType,
        num_values: int,
    ) -> StoredArray:
        """Build a file from the buffers of an array, in the layout of a data file."""
        data, ranges = b"", []
        for buffer in buffers:
            content = bytes(buffer)
            ranges.append(ByteRange(len(data), len(data) + len(content)))
            data += content
            data += b"H" * (-len(data) % ALIGNMENT)
        return cls(data, tuple(ranges), encoding, type_, num_values)

    def content(self, number: int) -> bytes:
        """The bytes of a buffer."""
        byte_range = self.buffers[number]
        return self.data[byte_range.start : byte_range.stop]

    def with_data(self, data: bytes) -> StoredArray:
        """The same array with other bytes in the file."""
        return replace(self, data=data)

    def with_encoding(self, encoding: ArrayEncoding) -> StoredArray:
        """The same bytes under another description."""
        return replace(self, encoding=encoding)

    def decode(
        self, rows: Rows, registry: EncodingRegistry, gap: int = 1 << 40, again: bool = False
    ) -> pa.Array:
        """The decoded rows; ``again``: execute the same plan a second time.

        Raises `AssertionError` if the decoder requests a range outside the file.
        """
        scope = PlanScope(registry, self.buffers, (), self.type, self.num_values, len(self.data))
        context = DecodeContext(gap, len(self.data), FileVersion.V2_0, registry)
        plan = plan_array(self.encoding, scope)
        if again:
            decode_counted(plan.decode(rows, context), self.data)
        arrays, _ = decode_counted(plan.decode(rows, context), self.data)
        return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def decode_counted(
    decoding: Decoding[list[pa.Array]], data: bytes | pa.Buffer
) -> tuple[list[pa.Array], int]:
    """The result of a decoding of ``data``, and its number of read requests."""
    whole, rounds = pa.py_buffer(data), 0

    def fetch(ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        nonlocal rounds
        rounds += 1
        for start, stop in ranges:
            assert 0 <= start <= stop <= whole.size, (start, stop, whole.size)
        return [whole.slice(start, stop - start) for start, stop in ranges]

    return run_decoding(decoding, fetch), rounds


def select_rows(array: pa.Array, rows: Rows) -> pa.Array:
    """The rows of an array."""
    if isinstance(rows, RowRange):
        return array.slice(rows.start, len(rows))
    return array.take(pa.array(rows.values))
