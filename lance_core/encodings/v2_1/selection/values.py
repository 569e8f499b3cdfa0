"""Select the compressive encodings of a page's values; follows pylance's choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.compression.general import SCHEMES
from lance_core.encodings.v2_1.codecs.base import Encoded, Place, Target, encode
from lance_core.encodings.v2_1.codecs.general import compressed
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)
from lance_core.encodings.v2_1.codecs.variable_packed_struct import packed_per_value
from lance_core.encodings.v2_1.selection.cost import Integers, byte_entropy
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.kernels import Kernels

# The numbers are those of pylance: the same values get the same encodings, which tests compare. See
# docs/format/compression-2.md.
_MIN_COMPRESSED = 4096
MIN_TEXT = 32 << 10
_MIN_LONGEST = 5
_LARGE_VALUE = 32 << 10
_TURNED = (32, 64)
_LOW_ENTROPY = 4.0
CHUNK_BYTES = 4096


def mini_block_values(
    values: Values, type_: pa.DataType, options: FieldOptions, context: EncodeContext
) -> Encoded:
    """Encode ``values`` of type ``type_`` in chunks of a mini-block page.

    Raises `InvalidInputError` for an unknown compression and `UnsupportedFeatureError` for values
    that chunks cannot store.
    """
    size = CHUNK_BYTES if options.minichunk_size is None else max(options.minichunk_size, 0)
    chain: tuple[str, ...]
    if isinstance(values, FixedSizeListValues):
        chain = ("fixed_size_list",)
    elif isinstance(values, StructValues):
        chain = ("packed_struct", "flat")
    elif isinstance(values, VariableWidth):
        chain = _text_chain(values, type_, options)
    else:
        chain = (_fixed_codec(values, options, context.kernels),)
    target = Target(Place.MINI_BLOCK, context.registry, chain, chunk_bytes=size)
    encoded = encode(values, target)
    if options.compression is None or isinstance(values, FixedSizeListValues | StructValues):
        return encoded
    return _generally(encoded, options)


def _fixed_codec(values: FixedWidth, options: FieldOptions, kernels: Kernels) -> str:
    """The smallest encoding of fixed-width values, or the one that compresses best afterwards."""
    requested = options.compression
    if requested == "none":
        return "flat"
    if requested is not None and values.count and _is_turned(values, options.bss):
        return "byte_stream_split"
    integers = Integers.of(values, kernels)
    if integers is None:
        return "flat"
    packed = integers.inline_size
    if integers.passes(options.rle_threshold) and integers.runs_beat(packed, in_chunks=True):
        return "rle"
    return "inline_bitpacking" if packed < integers.size else "flat"


def _is_turned(values: FixedWidth, mode: str | None) -> bool:
    if values.bits not in _TURNED or mode == "off":
        return False
    return mode == "on" or byte_entropy(values) < _LOW_ENTROPY


def _text_chain(
    values: VariableWidth, type_: pa.DataType, options: FieldOptions
) -> tuple[str, ...]:
    """FSST if it is requested, or if nothing is requested and there is enough text."""
    requested = options.compression
    if requested == "fsst":
        return ("fsst", "variable")
    is_binary = pa.types.is_binary(type_) or pa.types.is_large_binary(type_)
    if requested is not None or is_binary or _stored(values) < MIN_TEXT:
        return ("variable",)
    return ("fsst", "variable") if longest(values) >= _MIN_LONGEST else ("variable",)


def _stored(values: VariableWidth) -> int:
    """Bytes of values and offsets."""
    return int(values.offsets[-1]) + values.offsets.nbytes


def longest(values: VariableWidth) -> int:
    """Bytes of the longest value."""
    if not values.count:
        return 0
    return int(np.maximum.reduce(values.offsets[1:] - values.offsets[:-1]))


def _generally(inner: Encoded, options: FieldOptions) -> Encoded:
    """Compress ``inner`` as requested, if it is large enough and becomes smaller."""
    if options.compression in (None, "none", "fsst"):
        return inner
    scheme = known_scheme(options.compression)
    size = inner.buffers[0].size
    if size < _MIN_COMPRESSED:
        return inner
    outer = compressed(inner, scheme, options.level)
    return outer if outer.buffers[0].size < size else inner


def known_scheme(name: str | None) -> str:
    """``name`` if it names a general compression. Raises `InvalidInputError` otherwise."""
    if name not in SCHEMES:
        raise InvalidInputError(f"unknown compression {name!r}; there are {', '.join(SCHEMES)}")
    return name


def per_value(
    values: Values, type_: pa.DataType, options: FieldOptions, context: EncodeContext
) -> Encoded:
    """Encode ``values`` of type ``type_`` one by one for a full-zip page.

    Raises `UnsupportedFeatureError` for structs that the file version cannot store this way.
    """
    target = Target(Place.PER_VALUE, context.registry)
    if isinstance(values, FixedWidth):
        return encode(values, target.with_chain("flat"))
    if isinstance(values, FixedSizeListValues):
        return encode(values, target.with_chain("fixed_size_list"))
    if isinstance(values, StructValues):
        return _struct_per_value(values, type_, options, context)
    requested = options.compression
    if requested == "none":
        return encode(values, target.with_chain("variable"))
    is_requested = requested not in (None, "fsst")
    if (is_requested or longest(values) > _LARGE_VALUE) and _stored(values) >= MIN_TEXT:
        level = options.level if requested == "zstd" else None
        # pylance compresses single values with zstd, also if lz4 is requested.
        inner = encode(values, target.with_chain("variable"))
        return compressed(inner, "zstd", level or 0)
    return encode(values, target.with_chain(*_text_chain(values, type_, options)))


def _struct_per_value(
    values: StructValues, type_: pa.DataType, options: FieldOptions, context: EncodeContext
) -> Encoded:
    """Encode each child as if it were a separate field."""
    if context.version < FileVersion.V2_2:
        raise UnsupportedFeatureError(
            f"file version {context.version} cannot store packed structs with children of "
            "variable width"
        )
    plain = FieldOptions()
    children = []
    for number, child in enumerate(values.children):
        if isinstance(child, StructValues) or (isinstance(child, FixedWidth) and child.bits % 8):
            raise UnsupportedFeatureError(
                "packed structs cannot have children that are structs or booleans"
            )
        own = options.children[number] if options.children else plain
        children.append(per_value(child, type_.field(number).type, own, context))
    return packed_per_value(children, values.count)
