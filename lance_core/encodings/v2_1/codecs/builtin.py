"""The compressive encodings of the core package."""

from __future__ import annotations

from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.v2_1.codecs.base import Codec
from lance_core.encodings.v2_1.codecs.bitpacking import (
    InlineBitpackingCodec,
    OutOfLineBitpackingCodec,
)
from lance_core.encodings.v2_1.codecs.byte_stream_split import ByteStreamSplitCodec
from lance_core.encodings.v2_1.codecs.constant import ConstantCodec
from lance_core.encodings.v2_1.codecs.dictionary import DictionaryCodec
from lance_core.encodings.v2_1.codecs.fixed_size_list import FixedSizeListCodec
from lance_core.encodings.v2_1.codecs.flat import FlatCodec
from lance_core.encodings.v2_1.codecs.fsst import FsstCodec
from lance_core.encodings.v2_1.codecs.general import GeneralCodec
from lance_core.encodings.v2_1.codecs.packed_struct import PackedStructCodec
from lance_core.encodings.v2_1.codecs.rle import RunLengthCodec
from lance_core.encodings.v2_1.codecs.variable import VariableCodec
from lance_core.encodings.v2_1.codecs.variable_packed_struct import VariablePackedStructCodec

CODECS: tuple[Codec, ...] = (
    FlatCodec(),
    VariableCodec(),
    ConstantCodec(),
    OutOfLineBitpackingCodec(),
    InlineBitpackingCodec(),
    FsstCodec(),
    DictionaryCodec(),
    RunLengthCodec(),
    ByteStreamSplitCodec(),
    GeneralCodec(),
    FixedSizeListCodec(),
    PackedStructCodec(),
    VariablePackedStructCodec(),
)
"""One codec for each alternative of ``lance.encodings21.CompressiveEncoding`` up to 2.2."""


def specs() -> list[EncodingSpec]:
    """The specs of all codecs."""
    return [codec.spec() for codec in CODECS]
