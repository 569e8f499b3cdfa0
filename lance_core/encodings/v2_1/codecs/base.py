"""The interface of compressive encodings (message ``lance.encodings21.CompressiveEncoding``).

An encoding is a `Codec`: it decodes all values of a source, encodes values, and may have fast paths
to some values and to one value. The type of the source says how the bytes are framed: in chunks of
a mini-block page, in a separate block (levels, dictionaries), or per value in a full-zip page.
Encodings that contain other encodings find these through the registry.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Values, VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import take_values
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.registry import EncodingRegistry

MAX_NESTING = 8
"""Maximum nesting depth of encodings."""
MAX_UNBACKED_BYTES = 64 << 20
"""Bytes that an encoding without stored bytes may always claim, however small the page is."""


_new, _put = object.__new__, object.__setattr__


@dataclass(frozen=True, slots=True, eq=False)
class MiniBlockChunks:
    """Some chunks of a mini-block page, with one or more value buffers each.

    Value buffer b of chunk c is ``data[starts[b, c]:starts[b, c] + sizes[b, c]]``. The buffers of
    chunk c together hold ``counts[c]`` values.
    """

    data: npt.NDArray[np.uint8]
    starts: Int64Array
    sizes: Int64Array
    counts: Int64Array
    depth: int = 0

    def __post_init__(self) -> None:
        if self.starts.shape != self.sizes.shape or self.starts.shape[1:] != self.counts.shape:
            raise CorruptFileError("the number of chunks and the number of their buffers differ")
        if len(self.counts) and self.starts.size:
            if self.starts.min() < 0 or self.sizes.min() < 0:
                raise CorruptFileError("a buffer of a chunk has a negative size")
            if (self.starts > len(self.data) - self.sizes).any():
                raise CorruptFileError("a buffer of a chunk ends after the page")
        if len(self.counts) and not 0 <= self.counts.min() <= self.counts.max():
            raise CorruptFileError("a chunk has a negative number of values")

    @classmethod
    def known(
        cls,
        data: npt.NDArray[np.uint8],
        starts: Int64Array,
        sizes: Int64Array,
        counts: Int64Array,
        depth: int = 0,
    ) -> MiniBlockChunks:
        """Chunks that are already checked; a second check would cost more than most reads."""
        self = _new(cls)
        _put(self, "data", data)
        _put(self, "starts", starts)
        _put(self, "sizes", sizes)
        _put(self, "counts", counts)
        _put(self, "depth", depth)
        return self

    def within(self) -> MiniBlockChunks:
        """The same chunks for an encoding that is nested one level deeper."""
        inner = _new(MiniBlockChunks)  # as `known` makes it, which would be one more call
        _put(inner, "data", self.data)
        _put(inner, "starts", self.starts)
        _put(inner, "sizes", self.sizes)
        _put(inner, "counts", self.counts)
        _put(inner, "depth", self.depth + 1)
        return inner

    @property
    def count(self) -> int:
        """The number of values of all chunks."""
        return int(np.add.reduce(self.counts))

    @property
    def num_buffers(self) -> int:
        return len(self.starts)

    def buffers(self, first: int, stop: int | None = None) -> MiniBlockChunks:
        """The same chunks with only some of their buffers."""
        return replace(self, starts=self.starts[first:stop], sizes=self.sizes[first:stop])

    def single(self) -> MiniBlockChunks:
        """These chunks if they have one buffer each. Raises `CorruptFileError` otherwise."""
        if len(self.starts) != 1:
            raise CorruptFileError(f"a chunk has {self.num_buffers} value buffers, expected 1")
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One buffer that holds ``count`` values."""

    data: pa.Buffer
    count: int
    depth: int = 0

    def within(self) -> Block:
        """The same bytes for an encoding that is nested one level deeper."""
        return Block(self.data, self.count, self.depth + 1)

    def as_chunk(self) -> MiniBlockChunks:
        """The same bytes as the only buffer of the only chunk of a page."""
        octets = np.frombuffer(self.data, np.uint8)
        start, size = np.zeros((1, 1), np.int64), np.full((1, 1), len(octets))
        return MiniBlockChunks(octets, start, size, np.array([self.count]), self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class PerValue:
    """The bytes of each value of a full-zip page, without control words and lengths."""

    payload: FixedWidth | VariableWidth
    depth: int = 0

    def within(self) -> PerValue:
        """The same values for an encoding that is nested one level deeper."""
        return PerValue(self.payload, self.depth + 1)

    @property
    def count(self) -> int:
        return self.payload.count


Source = MiniBlockChunks | Block | PerValue


class ChunkPositions(NamedTuple):
    """Single values of chunks: value i is the one at index ``position[i]`` of chunk ``chunk[i]``.

    The values ascend by chunk, then by position. ``counts`` has the number of values of each chunk.
    """

    counts: Int64Array
    chunk: Int64Array
    position: Int64Array

    @classmethod
    def of(cls, where: Int64Array, counts: Int64Array) -> ChunkPositions:
        """Positions from ascending indices ``where`` into the values of all chunks."""
        ends = np.cumsum(counts)
        chunk = np.searchsorted(ends, where, side="right")
        return cls(counts, chunk, where - (ends - counts).take(chunk))

    @property
    def packed(self) -> PackedPositions:
        return PackedPositions(self.chunk, self.position)

    def places(self) -> Int64Array:
        """The indices into the values of all chunks."""
        first_values: Int64Array = (np.cumsum(self.counts) - self.counts).take(self.chunk)
        return first_values + self.position


chunk_positions: Callable[[tuple[Int64Array, Int64Array, Int64Array]], ChunkPositions]
chunk_positions = partial(tuple.__new__, ChunkPositions)
"""The positions with these members, without a call of a Python function."""


class Chunk(NamedTuple):
    """The buffers of one chunk, block or value: buffer b is ``data[starts[b]:][:sizes[b]]``.

    All buffers are within ``data``. They hold ``total`` values.
    """

    data: memoryview
    starts: Sequence[int]
    sizes: Sequence[int]
    total: int

    def check_size(self, needed: int) -> None:
        """Raise `CorruptFileError` unless there is one buffer of at least ``needed`` bytes."""
        if len(self.sizes) != 1 or self.sizes[0] < needed:
            raise CorruptFileError(
                f"a chunk has buffers of {list(self.sizes)} bytes; it needs one buffer of at "
                f"least {needed} bytes"
            )


ScalarAt = Callable[[Chunk, int], bytes | memoryview]
"""Returns the bytes of the value at a position below the chunk's total; one byte for one bit.

Raises `CorruptFileError`. Implementations use plain integers: a few dozen numpy calls cost more
than decoding one value.
"""


class Codec(ABC):
    """One encoding, with all code that is specific to it.

    ``key`` is the name of its alternative in the message, ``min_file_version`` the first file
    version that allows it. `take` and `scalar_at` return the same values as `decode` and check the
    bytes that they use.
    """

    key: str
    min_file_version = FileVersion.V2_1

    @abstractmethod
    def decode(self, message: Any, source: Source, context: DecodeContext) -> Values:
        """All values of ``source``, exactly as many as it states.

        Raises `CorruptFileError` for damaged bytes, before memory is allocated for what they claim,
        and `UnsupportedFeatureError` for a source in which the encoding does not occur.
        """

    def encode(self, values: Values, target: Target) -> Encoded:
        """Encode ``values``. Raises `UnsupportedFeatureError` for values that it cannot store."""
        raise UnsupportedFeatureError(f"encoding {self.key!r} cannot be written")

    def take(
        self, message: Any, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
    ) -> Values:
        """The values of chunks at the positions ``at``; raises as `decode` does."""
        return _take_from(self.decode(message, chunks, context), chunks, at, context)

    def scalar_at(
        self, message: Any, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """A function that returns one value of a chunk, of a block or of a full-zip page.

        It interprets ``message`` once per page. None, the default, means that a single value
        requires decoding the whole chunk. ``depth`` is the number of encodings around this one.
        """
        return None

    def spec(self) -> EncodingSpec:
        """The spec for the registry."""
        return EncodingSpec(
            self.key,
            self.min_file_version,
            self.decode,
            self.encode,
            EncodingFamily.COMPRESSIVE,
            self.take,
            self.scalar_at,
        )


def decode(encoding: CompressiveEncoding, source: Source, context: DecodeContext) -> Values:
    """All values of ``source``; raises as `Codec.decode` does."""
    key, spec = _find(encoding, source.depth, context)
    values: Values = spec.decoder(getattr(encoding, key), source.within(), context)
    return _checked(values, source.count)


def take(
    encoding: CompressiveEncoding,
    chunks: MiniBlockChunks,
    at: ChunkPositions,
    context: DecodeContext,
) -> Values:
    """The values of ``chunks`` at the positions ``at``; raises as `Codec.decode` does."""
    key, spec = _find(encoding, chunks.depth, context)
    if spec.take is None:
        return _take_from(decode(encoding, chunks, context), chunks, at, context)
    values: Values = spec.take(getattr(encoding, key), chunks.within(), at, context)
    return values if values.count == len(at.chunk) else _checked(values, len(at.chunk))


def _take_from(
    values: Values, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
) -> Values:
    """Out of all ``values`` of ``chunks``, those at the positions ``at``."""
    return take_values(_checked(values, chunks.count), at.places(), context.kernels)


def _checked(values: Values, count: int) -> Values:
    if values.count != count:
        raise CorruptFileError(f"{values.count} values where there should be {count}")
    return values


def scalar_at(
    encoding: CompressiveEncoding, place: Place, context: DecodeContext, depth: int = 0
) -> ScalarAt | None:
    """A function that returns one value, see `Codec.scalar_at`."""
    key, spec = _find(encoding, depth, context)
    if spec.scalar_at is None:
        return None
    function: ScalarAt | None = spec.scalar_at(getattr(encoding, key), place, context, depth + 1)
    return function


def _find(
    encoding: CompressiveEncoding, depth: int, context: DecodeContext
) -> tuple[str, EncodingSpec]:
    """The key and spec of ``encoding``; `CorruptFileError` if the file version lacks it."""
    if depth >= MAX_NESTING:
        raise CorruptFileError(f"encodings are nested more than {MAX_NESTING} levels deep")
    key = encoding.WhichOneof("compression")
    if key is None:
        raise CorruptFileError("the encoding of the values is missing")
    known = context.registry.allowed_encodings
    spec = known.get((key, context.version))
    if spec is None:
        spec = context.registry.find(key, EncodingFamily.COMPRESSIVE)
        if context.version < spec.min_file_version:
            raise CorruptFileError(
                f"files of version {context.version} cannot contain encoding {key!r}"
            )
        known[key, context.version] = spec
    return key, spec


def unsupported_placement(key: str, source: Source | Target) -> UnsupportedFeatureError:
    """The error for an encoding that is not allowed in the given place."""
    name = source.place.value if isinstance(source, Target) else _NAMES[type(source)]
    return UnsupportedFeatureError(f"encoding {key!r} does not occur {name}")


class Place(enum.Enum):
    """The destination of encoded values."""

    MINI_BLOCK = "in the chunks of a mini-block page"
    BLOCK = "in a block"
    PER_VALUE = "in the values of a full-zip page"


_NAMES = {
    MiniBlockChunks: Place.MINI_BLOCK.value,
    Block: Place.BLOCK.value,
    PerValue: Place.PER_VALUE.value,
}


@dataclass(frozen=True, slots=True)
class Target:
    """The environment of an encoder: the place of its result and the encodings inside it.

    ``chain`` has the keys of the encodings still to be applied, the outermost first. ``scheme`` and
    ``level`` are those of general compression. ``chunk_bytes`` limits the size of chunks of
    variable-width values. ``packed_bits`` is the minimum width for out-of-line packing, for blocks
    that share one message.
    """

    place: Place
    registry: EncodingRegistry
    chain: tuple[str, ...] = ()
    scheme: str = "zstd"
    level: int | None = None
    chunk_bytes: int = 4096
    packed_bits: int = 0

    @property
    def kernels(self) -> Kernels:
        """The kernels of this process."""
        return self.registry.kernels

    def with_chain(self, *chain: str) -> Target:
        """The same target with another chain of encodings."""
        return Target(
            self.place,
            self.registry,
            chain,
            self.scheme,
            self.level,
            self.chunk_bytes,
            self.packed_bits,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded values.

    For mini-block pages, each of ``buffers`` holds one value buffer of all chunks, concatenated.
    Chunk c has ``sizes[b, c]`` bytes of buffer b and ``counts[c]`` values. A block has one buffer
    and one chunk. For full-zip pages, ``payload`` has the bytes that follow the control words, and
    there are no buffers.
    """

    encoding: CompressiveEncoding
    buffers: tuple[pa.Buffer, ...]
    sizes: Int64Array
    counts: Int64Array
    payload: FixedWidth | VariableWidth | None = None

    @classmethod
    def block(cls, encoding: CompressiveEncoding, data: pa.Buffer, count: int) -> Encoded:
        """One buffer that holds ``count`` values."""
        return cls(encoding, (data,), np.array([[data.size]]), np.array([count]))

    @classmethod
    def per_value(
        cls, encoding: CompressiveEncoding, payload: FixedWidth | VariableWidth
    ) -> Encoded:
        """The bytes of each value of a full-zip page."""
        return cls(encoding, (), np.empty((0, 0), np.int64), np.empty(0, np.int64), payload)

    def within(self, encoding: CompressiveEncoding) -> Encoded:
        """The same bytes, described by ``encoding``, which contains this encoding."""
        return replace(self, encoding=encoding)

    def chunks(self) -> MiniBlockChunks:
        """The chunks as a reader receives them, with the buffers concatenated."""
        octets = [np.frombuffer(buffer, np.uint8) for buffer in self.buffers]
        bases = np.cumsum([0, *map(len, octets)])[:-1, None]
        starts = np.cumsum(self.sizes, axis=1) - self.sizes + bases
        data = np.concatenate([np.empty(0, np.uint8), *octets])
        return MiniBlockChunks(data, starts, self.sizes, self.counts)


def encode(values: Values, target: Target) -> Encoded:
    """Encode ``values`` by ``target.chain``; raises as `Codec.encode` does."""
    if not target.chain:
        raise UnsupportedFeatureError("the chain of encodings has none that stores values")
    key = target.chain[0]
    encoder = target.registry.find(key, EncodingFamily.COMPRESSIVE).encoder
    if encoder is None:
        raise UnsupportedFeatureError(f"encoding {key!r} cannot be written")
    encoded: Encoded = encoder(values, target.with_chain(*target.chain[1:]))
    return encoded
