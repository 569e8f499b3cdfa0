"""Select the encodings of blocks (dictionary items and levels); follows pylance's choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.codecs.base import Encoded, Place, Target, encode
from lance_core.encodings.v2_1.codecs.bitpacking import packed_blocks
from lance_core.encodings.v2_1.codecs.flat import flat_encoding
from lance_core.encodings.v2_1.codecs.general import compressed, compressed_blocks
from lance_core.encodings.v2_1.codecs.rle import run_blocks
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Values
from lance_core.encodings.v2_1.selection.cost import Integers
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.v2_1.selection.values import known_scheme
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.v2_1.levels.repdef import LevelArray

# As pylance chooses: docs/format/compression-2.md. LZ4 cannot compress more than `_MAX_LZ4` bytes.
_LARGE = 32 << 10
_MAX_LZ4 = 0x7E000000
_DICTIONARY_SCHEME = "lz4"


def encode_block(
    values: Values, options: FieldOptions | None, context: EncodeContext
) -> tuple[CompressiveEncoding, pa.Buffer]:
    """Encode ``values`` as one buffer.

    ``options`` are those of the field whose dictionary the values are; None if they are no
    dictionary. Raises `InvalidInputError` for an unknown compression.
    """
    target = Target(Place.BLOCK, context.registry)
    codec = _block_codec(values, context) if isinstance(values, FixedWidth) else "variable"
    encoded = encode(values, target.with_chain(codec))
    if codec in ("flat", "variable") and context.version >= FileVersion.V2_2:
        encoded = _generally(encoded, values, options)
    return encoded.encoding, encoded.buffers[0]


def _block_codec(values: FixedWidth, context: EncodeContext) -> str:
    integers = Integers.of(values, context.kernels)
    if integers is None:
        return "flat"
    is_new = context.version >= FileVersion.V2_2
    if is_new and integers.runs_beat(integers.block_size, in_chunks=False):
        return "rle"
    return codec_without_runs(integers)


def codec_without_runs(integers: Integers) -> str:
    """The codec of a block of integers that is not run-length encoded."""
    if not integers.packs_in_block:
        return "flat"
    return "inline_bitpacking" if len(integers.widths) == 1 else "out_of_line_bitpacking"


def _generally(inner: Encoded, values: Values, options: FieldOptions | None) -> Encoded:
    """Compress dictionaries as requested, by default with lz4; other large blocks with zstd."""
    size = inner.buffers[0].size
    if options is None:
        return compressed(inner, "zstd", 0) if size > _LARGE else inner
    requested = options.dict_values_compression
    if requested == "none":
        return inner
    scheme = known_scheme(_DICTIONARY_SCHEME if requested is None else requested)
    if scheme == "lz4" and size > _MAX_LZ4:
        scheme = "zstd"
    return compressed(inner, scheme, options.dict_values_level)


def compress_dictionaries(
    encoding: CompressiveEncoding, blocks: Sequence[pa.Buffer], context: EncodeContext
) -> list[tuple[CompressiveEncoding, pa.Buffer]]:
    """Compress dictionaries of ``encoding`` as `encode_block` does for fields without options."""
    if context.version < FileVersion.V2_2:
        return [(encoding, block) for block in blocks]
    return compressed_blocks(encoding, blocks, _DICTIONARY_SCHEME)


def encode_levels(
    levels: LevelArray, edges: Int64Array, context: EncodeContext
) -> tuple[CompressiveEncoding, pa.Buffer, Int64Array]:
    """Encode the levels of chunks; returns message, concatenated bytes and the bytes per chunk.

    Chunk c has the levels ``edges[c]`` to ``edges[c + 1]``.
    """
    words: npt.NDArray[np.uint16] = np.ascontiguousarray(levels, "<u2")
    counts = np.diff(edges)
    codec = _block_codec(FixedWidth.of(words), context)
    if codec == "rle":
        encoded = run_blocks(words, counts)
    elif codec == "out_of_line_bitpacking":
        width = int(words.max()).bit_length()
        encoded = packed_blocks(words, counts, width, context.kernels)
    elif codec == "inline_bitpacking":
        return _one_by_one(words, edges, codec, context)
    else:
        return flat_encoding(16), pa.py_buffer(words), counts * 2
    return encoded.encoding, encoded.buffers[0], encoded.sizes[0]


def _one_by_one(
    words: npt.NDArray[np.uint16], edges: Int64Array, codec: str, context: EncodeContext
) -> tuple[CompressiveEncoding, pa.Buffer, Int64Array]:
    """Encode each of a few chunks as a separate block; all blocks have the same message."""
    target = Target(Place.BLOCK, context.registry, (codec,))
    bounds = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    parts = [encode(FixedWidth.of(words[start:stop]), target) for start, stop in bounds]
    data = b"".join(part.buffers[0] for part in parts)
    sizes = np.array([part.buffers[0].size for part in parts], np.int64)
    return parts[0].encoding, pa.py_buffer(data), sizes
