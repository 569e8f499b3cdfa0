"""Values in an encoding of a plugin, stored as consecutive blocks (message ``ForeignValues``).

All blocks except the last one hold the same number of values. Each block is encoded separately, so
that a read of single values decodes only some blocks. A null is stored as the value before it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError

from lance_core._pb.foreign_pb2 import ForeignValues
from lance_core.encodings.arrow.coalesced_take import span_ranges
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.plugin_values.value_encoding import MAX_BLOCK_VALUES, accepts, error_name
from lance_core.error_texts.plugin_calls import CheckedCalls
from lance_core.errors import CorruptFileError, PluginError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_array

if TYPE_CHECKING:
    from lance_core.byte_ranges import ByteRange
    from lance_core.encodings.decoding import Decoding, Int64Array, ValuePositions
    from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec

_MAX_VALUES = 1 << 48
_TAKE_COST = 8
"""Cost of taking one value, relative to decoding one value of a whole block."""


def encode_blocks(array: pa.Array, spec: ValueEncodingSpec) -> tuple[ForeignValues, pa.Buffer]:
    """Encode ``array``, which may have nulls; returns the message and the encoded blocks."""
    dense = without_nulls(array)
    step = spec.block_values
    blocks = [_encoded(dense.slice(start, step), spec) for start in range(0, len(dense), step)]
    message = ForeignValues(
        type_url=spec.key,
        distribution=spec.distribution,
        num_values=len(dense),
        values_per_block=step,
        block_bytes=[block.size for block in blocks],
    )
    return message, blocks[0] if len(blocks) == 1 else pa.py_buffer(b"".join(blocks))


def _encoded(block: pa.Array, spec: ValueEncodingSpec) -> pa.Buffer:
    """The bytes of a block. Raises `PluginError` if the plugin raises an error of Python."""
    calls = CheckedCalls(error_name(spec), PluginError)
    encoded = calls("the encoder", object, lambda: spec.encoder(block))
    if isinstance(encoded, pa.Buffer):
        return encoded
    if not isinstance(encoded, bytes | bytearray | memoryview):
        raise calls.wrong("the encoder", encoded, "bytes or a pyarrow.Buffer")
    return pa.py_buffer(encoded)


def without_nulls(array: pa.Array) -> pa.Array:
    """``array`` with each null replaced by the value before it, leading nulls by the first value.

    Raises `UnsupportedFeatureError` if all values are null.
    """
    if not array.null_count:
        return array
    valid = np.asarray(array.is_valid())
    if not valid.any():
        raise UnsupportedFeatureError("cannot encode an array that contains only nulls")
    positions = np.where(valid, np.arange(len(array)), int(valid.argmax()))
    return take_rows(array, pa.array(np.maximum.accumulate(positions)))


def parse_foreign(raw: bytes) -> ForeignValues:
    """The message from its bytes. Raises `CorruptFileError` if its numbers are inconsistent."""
    try:
        message = ForeignValues.FromString(raw)
    except DecodeError as error:
        raise CorruptFileError(
            "the bytes are not a valid ForeignValues message", field="foreign"
        ) from error
    count, step = message.num_values, message.values_per_block
    if count > _MAX_VALUES or not 0 < step <= MAX_BLOCK_VALUES:
        raise CorruptFileError(
            f"invalid counts: {count} values (at most {_MAX_VALUES}) in blocks of {step} (1 to "
            f"{MAX_BLOCK_VALUES})",
            field="ForeignValues",
        )
    if len(message.block_bytes) != -(-count // step):
        raise CorruptFileError(
            f"{count} values in blocks of {step} need another number of blocks than "
            f"{len(message.block_bytes)}",
            field="ForeignValues",
        )
    return message


@dataclass(frozen=True, slots=True, eq=False)
class ForeignBlocks:
    """The ``count`` values of a page as ``type``, ``step`` of them in each block.

    Block b is at bytes ``edges[b]`` to ``edges[b + 1]`` of ``byte_range``.
    """

    spec: ValueEncodingSpec
    type: pa.DataType
    byte_range: ByteRange
    count: int
    step: int
    edges: Int64Array

    @classmethod
    def of(
        cls,
        message: ForeignValues,
        spec: ValueEncodingSpec,
        type_: pa.DataType,
        byte_range: ByteRange,
    ) -> ForeignBlocks:
        """The blocks that ``message`` describes in ``byte_range``. Raises `CorruptFileError`."""
        if not accepts(spec, type_):
            raise CorruptFileError(f"{error_name(spec)} does not accept values of type {type_}")
        edges = [0, *accumulate(message.block_bytes)]
        if edges[-1] > byte_range.length:
            raise CorruptFileError(
                f"the blocks take {edges[-1]} bytes, but their buffer has {byte_range.length}",
                offset=byte_range.start,
            )
        step = message.values_per_block
        return cls(spec, type_, byte_range, message.num_values, step, np.array(edges, np.int64))

    def decode(self, where: ValuePositions, gap: int) -> Decoding[pa.Array]:
        """The values at ``where``, which must ascend; the result has no nulls.

        Blocks at most ``gap`` bytes apart are read as one range. Raises `CorruptFileError`, and
        `UnsupportedFeatureError` if one array of the type cannot hold the values.
        """
        if isinstance(where, slice):
            numbers = np.arange(where.start // self.step, -(-where.stop // self.step))
            numbers = numbers[: max(0, where.stop - where.start)]
        else:
            numbers = np.unique(where // self.step)
        if not len(numbers):
            yield from ()
            return empty_array(self.type)
        starts, stops = self.edges[numbers], self.edges[numbers + 1]
        ranges, cuts = span_ranges(self.byte_range.start, starts, stops, gap)
        buffers = yield ranges
        parts = []
        for range_, (a, b) in enumerate(pairwise(cuts.edges)):
            for number in numbers[a:b].tolist():
                start, stop = self.edges[number : number + 2] - cuts.firsts[range_]
                data = buffers[range_].slice(start, stop - start)
                parts.append(self._part(number, data, where))
        return concat_arrays(parts)

    def _part(self, number: int, data: pa.Buffer, where: ValuePositions) -> pa.Array:
        """The values of block ``number``, with bytes ``data``, that ``where`` selects."""
        first, count = number * self.step, min(self.step, self.count - number * self.step)
        at: ValuePositions
        if isinstance(where, slice):
            at = slice(max(0, where.start - first), min(count, where.stop - first))
            num_selected = at.stop - at.start
        else:
            a, b = np.searchsorted(where, [first, first + count])
            at, num_selected = where[a:b] - first, int(b - a)
        take = self.spec.take
        if take is not None and num_selected * _TAKE_COST < count:
            positions = np.arange(at.start, at.stop) if isinstance(at, slice) else at
            return self._checked(
                "take", num_selected, lambda: take(data, self.type, count, positions)
            )
        block = self._checked(
            "the decoder", count, lambda: self.spec.decoder(data, self.type, count)
        )
        if isinstance(at, slice):
            return block.slice(at.start, num_selected)
        return take_rows(block, from_numpy(at))

    def _checked(self, method: str, count: int, decode: Callable[[], pa.Array]) -> pa.Array:
        """The array that ``decode`` returns, checked for length, type and nulls."""
        calls = CheckedCalls(error_name(self.spec), CorruptFileError)
        array = calls(method, pa.Array, decode)
        problem = array_problem(array, self.type, count)
        if problem is None and array.null_count:
            problem = f"an array with {array.null_count} nulls"
        if problem is not None:
            raise calls.false(method, problem)
        return array


def array_problem(array: pa.Array, type_: pa.DataType, count: int) -> str | None:
    """What is wrong with an array of a plugin, which must have ``count`` values of ``type_``.

    None if nothing is. Checks what Arrow would otherwise trust, such as offsets and UTF-8.
    """
    if array.type != type_:
        return f"an array of type {array.type}, not {type_}"
    if len(array) != count:
        return f"{len(array)} values instead of {count}"
    # Arrow lets arrays have decimals with more digits than their type; only a full validation does
    # not, and what a user wrote must come back.
    try:
        array.validate(full=not pa.types.is_decimal(type_))
    except pa.ArrowException as error:
        return f"an invalid array: {error}"
    return None
