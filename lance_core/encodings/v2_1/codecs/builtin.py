"""The compressive encodings that this package brings along."""

from __future__ import annotations

from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.encodings.v2_1.codecs import bitpacking, fsst, general, rle
from lance_core.encodings.v2_1.codecs.base import CompressiveDecoder, CompressiveEncoder
from lance_core.encodings.v2_1.codecs.byte_stream_split import (
    decode_byte_stream_split,
    encode_byte_stream_split,
)
from lance_core.encodings.v2_1.codecs.constant import decode_constant, encode_constant
from lance_core.encodings.v2_1.codecs.dictionary import decode_dictionary
from lance_core.encodings.v2_1.codecs.fixed_size_list import (
    decode_fixed_size_list,
    encode_fixed_size_list,
)
from lance_core.encodings.v2_1.codecs.flat import decode_flat, encode_flat
from lance_core.encodings.v2_1.codecs.packed_struct import (
    decode_packed_struct,
    encode_packed_struct,
)
from lance_core.encodings.v2_1.codecs.variable import decode_variable, encode_variable
from lance_core.encodings.v2_1.codecs.variable_packed_struct import (
    decode_variable_packed_struct,
    encode_variable_packed_struct,
)
from lance_core.encodings.version import FileVersion


def specs() -> list[EncodingSpec]:
    """One descriptor for each alternative of ``lance.encodings21.CompressiveEncoding`` to 2.2."""
    return [
        _spec("flat", decode_flat, encode_flat),
        _spec("variable", decode_variable, encode_variable),
        _spec("constant", decode_constant, encode_constant),
        _spec(
            "out_of_line_bitpacking",
            bitpacking.decode_out_of_line,
            bitpacking.encode_out_of_line,
        ),
        _spec("inline_bitpacking", bitpacking.decode_inline, bitpacking.encode_inline),
        _spec("fsst", fsst.decode_fsst, fsst.encode_fsst),
        _spec("dictionary", decode_dictionary, None),
        _spec("rle", rle.decode_rle, rle.encode_rle),
        _spec("byte_stream_split", decode_byte_stream_split, encode_byte_stream_split),
        _spec("general", general.decode_general, general.encode_general),
        _spec("fixed_size_list", decode_fixed_size_list, encode_fixed_size_list),
        _spec("packed_struct", decode_packed_struct, encode_packed_struct),
        _spec(
            "variable_packed_struct",
            decode_variable_packed_struct,
            encode_variable_packed_struct,
            FileVersion.V2_2,
        ),
    ]


def _spec(
    key: str,
    decoder: CompressiveDecoder,
    encoder: CompressiveEncoder | None,
    version: FileVersion = FileVersion.V2_1,
) -> EncodingSpec:
    return EncodingSpec(key, version, decoder, encoder, EncodingFamily.COMPRESSIVE)
