"""The interface of the array encodings of 2.0 files (message ``lance.encodings.ArrayEncoding``).

Decoding has two steps. An `ArrayDecoder` checks the encoding message of a page once against the
buffers of the page and returns an `ArrayPlan`. The plan is kept with the page and decodes any rows.
Encodings that contain other encodings find these through the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Buffer
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.registry import EncodingFamily
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

__all__ = [
    "ArrayDecoder",
    "ArrayEncoder",
    "ArrayEncoding",
    "ArrayPlan",
    "EncodeScope",
    "PlanScope",
    "is_byte_lists",
    "plan_array",
]

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column
    from lance_core.encodings.registry import EncodingRegistry


class ArrayPlan(ABC):
    """Decodes rows of one encoded array. Immutable as far as callers can observe."""

    __slots__ = ()

    @abstractmethod
    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """Decode ``rows``, at least one and all within the array.

        Returns several arrays only if one array cannot hold the result; they hold the rows in
        order. Raises `CorruptFileError` without the field's path; the caller adds offset and field.
        """


@dataclass(frozen=True, slots=True)
class PlanScope:
    """The environment of an `ArrayDecoder`.

    ``buffers`` are those of the page, ``column_buffers`` those of its column. ``type`` is the
    storage type to produce, ``num_values`` the length of the array. Every buffer must lie within
    ``file_size`` bytes.
    """

    registry: EncodingRegistry
    buffers: tuple[ByteRange, ...]
    column_buffers: tuple[ByteRange, ...]
    type: pa.DataType
    num_values: int
    file_size: int

    def inner(self, type_: pa.DataType, num_values: int | None = None) -> PlanScope:
        """The scope of an array nested in this one."""
        count = self.num_values if num_values is None else num_values
        return replace(self, type=type_, num_values=count)

    def buffer(self, reference: Buffer) -> ByteRange:
        """The byte range of the buffer that ``reference`` names."""
        if reference.buffer_type == Buffer.page:
            buffers = self.buffers
        elif reference.buffer_type == Buffer.column:
            buffers = self.column_buffers
        else:
            raise UnsupportedFeatureError("page data in a buffer of the file is not supported")
        if reference.buffer_index >= len(buffers):
            raise CorruptFileError(
                f"buffer {reference.buffer_index} is used where there are {len(buffers)}"
            )
        byte_range = buffers[reference.buffer_index]
        if not 0 <= byte_range.start <= byte_range.stop <= self.file_size:
            raise CorruptFileError(
                f"a buffer ends at byte {byte_range.stop} of a file of {self.file_size} bytes",
                offset=byte_range.start,
            )
        return byte_range


ArrayDecoder = Callable[[Any, PlanScope], ArrayPlan]
"""Makes a plan from the encoding, which is the message of the chosen alternative.

Raises `CorruptFileError` or `UnsupportedFeatureError` for encodings that cannot be decoded.
"""


def plan_array(encoding: ArrayEncoding, scope: PlanScope) -> ArrayPlan:
    """The plan for an encoding, made by the decoder that is registered for it."""
    key = encoding.WhichOneof("array_encoding")
    if key is None:
        raise CorruptFileError("an array has no encoding", field="ArrayEncoding")
    decoder = scope.registry.find(key, EncodingFamily.ARRAY).decoder
    plan: ArrayPlan = decoder(getattr(encoding, key), scope)
    return plan


@dataclass(frozen=True, slots=True)
class Compression:
    """A requested general compression: the scheme and an optional level."""

    scheme: str
    level: int | None = None


@dataclass(frozen=True, slots=True)
class EncodeScope:
    """The environment of an `ArrayEncoder`: collected buffers and requested options.

    An encoder appends its buffers to ``buffers`` and references each by its index in that list.
    """

    registry: EncodingRegistry
    buffers: list[pa.Buffer] = field(default_factory=list)
    compression: Compression | None = None

    def add(self, buffer: pa.Buffer) -> Buffer:
        """Append a buffer to the page and return the reference to it."""
        self.buffers.append(buffer)
        return Buffer(buffer_index=len(self.buffers) - 1)

    def encode(self, key: str, array: pa.Array) -> ArrayEncoding:
        """Encode ``array`` with the encoding registered under ``key``."""
        encoder = self.registry.find(key, EncodingFamily.ARRAY).encoder
        if encoder is None:
            raise UnsupportedFeatureError(f"encoding {key!r} can only be read")
        encoded: ArrayEncoding = encoder(array, self)
        return encoded


ArrayEncoder = Callable[["pa.Array", EncodeScope], ArrayEncoding]
"""Encodes an array, which may be sliced but is never of an extension type.

Raises `UnsupportedFeatureError` for an array that the encoding cannot store.
"""


def is_byte_lists(type_: pa.DataType, column: Column) -> bool:
    """True if ``column`` and the one after it store values of ``type_`` as lists of bytes.

    Writers up to 0.13 stored strings so: docs/format/file-2.0.md.
    """
    if not is_variable(type_) or not column.pages:
        return False
    encoding = column.pages[0].encoding
    return isinstance(encoding, ArrayEncoding) and encoding.HasField("list")
