"""Check what a compressive encoding of a plugin returns, so that its defects give no wrong rows.

While reading, anything but what `lance_core.encodings.v2_1.codecs.base` says, and any error of
Python, is a `CorruptFileError`, because damaged bytes cause such errors as well. While writing it
is a `PluginError`. Both name the encoding and its plugin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.v2_1.codecs.base import (
    Chunk,
    ChunkPositions,
    Encoded,
    MiniBlockChunks,
    Place,
    ScalarAt,
    Source,
    Target,
)
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)
from lance_core.error_texts.plugin_calls import CheckedCalls, type_of
from lance_core.errors import CorruptFileError, PluginError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext

_KINDS = (FixedWidth, VariableWidth, FixedSizeListValues, StructValues)
_OFFSETS = (np.dtype(np.int32), np.dtype(np.int64))


def checked_compressive_encoding(spec: EncodingSpec, plugin: str) -> EncodingSpec:
    """``spec`` with functions whose results are checked.

    ``plugin`` names the encoding and its plugin in errors.
    """
    own = _Checked(spec, plugin)
    return replace(
        spec,
        decoder=own.decode,
        encoder=None if spec.encoder is None else own.encode,
        take=None if spec.take is None else own.take,
        scalar_at=None if spec.scalar_at is None else own.scalar_at,
    )


class _Checked:
    """The functions of ``spec`` with checked results."""

    __slots__ = ("reads", "spec", "writes")

    def __init__(self, spec: EncodingSpec, plugin: str) -> None:
        self.spec = spec
        self.reads = CheckedCalls(plugin, CorruptFileError)
        self.writes = CheckedCalls(plugin, PluginError)

    def decode(self, message: Any, source: Source, context: DecodeContext) -> Values:
        answer = self.reads(
            "the decoder", _KINDS, lambda: self.spec.decoder(message, source, context)
        )
        return self._values("the decoder", answer, source.count)

    def take(
        self, message: Any, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
    ) -> Values:
        function = self.spec.take
        assert function is not None
        answer = self.reads("take", _KINDS, lambda: function(message, chunks, at, context))
        return self._values("take", answer, len(at.chunk))

    def scalar_at(
        self, message: Any, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        function = self.spec.scalar_at
        assert function is not None
        scalar = self.reads("scalar_at", object, lambda: function(message, place, context, depth))
        if scalar is None:
            return None
        if not callable(scalar):
            raise self.reads.wrong("scalar_at", scalar, "a function or None")

        def value(chunk: Chunk, position: int) -> bytes | memoryview:
            octets: bytes | memoryview = self.reads(
                "the function of scalar_at", (bytes, memoryview), lambda: scalar(chunk, position)
            )
            return octets

        return value

    def encode(self, values: Values, target: Target) -> Encoded:
        encoder = self.spec.encoder
        assert encoder is not None
        encoded: Encoded = self.writes("the encoder", Encoded, lambda: encoder(values, target))
        problem = _encoded_problem(encoded, values.count, target.place)
        if problem is not None:
            raise self.writes.false("the encoder", problem)
        return encoded

    def _values(self, method: str, values: Values, count: int) -> Values:
        problem = _values_problem(values)
        if problem is None and values.count != count:
            problem = f"{values.count} values instead of {count}"
        if problem is not None:
            raise self.reads.false(method, problem)
        return _without_claims(values)


def _values_problem(values: object) -> str | None:
    """The reason why ``values`` cannot be used; None if they can.

    The classes of values check the numbers that they get, but not the types.
    """
    if isinstance(values, FixedWidth):
        numbers: tuple[object, object] = values.count, values.bits
        if not isinstance(values.data, pa.Buffer):
            return f"FixedWidth with data that are {type_of(values.data)}"
        if not all(isinstance(number, int) for number in numbers):
            return f"FixedWidth with {' and '.join(map(type_of, numbers))} as count and bits"
        return None
    if isinstance(values, VariableWidth):
        return _variable_problem(values)
    if isinstance(values, FixedSizeListValues):
        items: object = values.values
        if not isinstance(items, FixedWidth):
            return f"FixedSizeListValues of {type_of(items)}"
        if not all(isinstance(bitmap, pa.Buffer | None) for bitmap in values.validity):
            return "FixedSizeListValues whose bitmaps are not buffers"
        return _values_problem(items)
    if isinstance(values, StructValues):
        return next(filter(None, map(_values_problem, values.children)), None)
    return f"a child that is {type_of(values)}"


def _variable_problem(values: VariableWidth) -> str | None:
    offsets: object = values.offsets
    if not isinstance(offsets, np.ndarray) or offsets.dtype not in _OFFSETS or offsets.ndim != 1:
        return "VariableWidth whose offsets are not an array of int32 or int64"
    if not isinstance(values.data, pa.Buffer):
        return f"VariableWidth with data that are {type_of(values.data)}"
    try:
        VariableWidth.checked(offsets, values.data)
    except CorruptFileError as error:
        return f"VariableWidth with bad offsets: {error}"
    return None


def _without_claims(values: Values) -> Values:
    """``values`` whose texts are checked for UTF-8, even if the plugin says that all is ASCII."""
    if isinstance(values, VariableWidth) and values.is_ascii:
        return VariableWidth(values.offsets, values.data)
    if isinstance(values, StructValues):
        return StructValues(tuple(map(_without_claims, values.children)), values.count)
    return values


def _encoded_problem(encoded: Encoded, count: int, place: Place) -> str | None:
    """The reason why ``encoded`` cannot be stored; None if it can."""
    message: object = encoded.encoding
    if not isinstance(message, CompressiveEncoding):
        return f"Encoded whose encoding is {type_of(message)}"
    if message.WhichOneof("compression") is None:
        return "a CompressiveEncoding without an alternative"
    if place is Place.PER_VALUE:
        payload: object = encoded.payload
        if not isinstance(payload, FixedWidth | VariableWidth):
            return f"Encoded whose payload is {type_of(payload)}"
        wrong = f"{payload.count} values instead of {count}" if payload.count != count else None
        return _values_problem(payload) or wrong
    sizes, counts = encoded.sizes, encoded.counts
    for name, table, dimensions in (("sizes", sizes, 2), ("counts", counts, 1)):
        if not isinstance(table, np.ndarray) or table.dtype.kind not in "iu":
            return f"Encoded whose {name} are not an array of integers"
        if table.ndim != dimensions or (table < 0).any():
            return f"Encoded whose {name} are negative or have {table.ndim} dimensions"
    if not all(isinstance(buffer, pa.Buffer) for buffer in encoded.buffers):
        return "Encoded whose buffers are not pyarrow.Buffer"
    if sizes.shape != (len(encoded.buffers), len(counts)):
        return f"sizes of shape {sizes.shape} for {len(encoded.buffers)} buffers"
    if sizes.sum(axis=1).tolist() != [buffer.size for buffer in encoded.buffers]:
        return "sizes of chunks that do not add up to the buffers"
    if int(counts.sum()) != count:
        return f"{int(counts.sum())} values instead of {count}"
    return None
