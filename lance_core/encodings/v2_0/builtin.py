"""The array encodings of the core package."""

from __future__ import annotations

from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.v2_0.binary import decode_binary, encode_binary
from lance_core.encodings.v2_0.bitpacked_for_non_neg import decode_bitpacked_for_non_neg
from lance_core.encodings.v2_0.dictionary import decode_dictionary, encode_dictionary
from lance_core.encodings.v2_0.fixed_size_list import decode_fixed_size_list, encode_fixed_size_list
from lance_core.encodings.v2_0.flat import decode_flat, encode_flat
from lance_core.encodings.v2_0.fsst import decode_fsst, encode_fsst
from lance_core.encodings.v2_0.nullable import decode_nullable, encode_nullable
from lance_core.encodings.v2_0.packed_struct import decode_packed_struct, encode_packed_struct
from lance_core.encodings.version import FileVersion


def specs() -> list[EncodingSpec]:
    """The specs of all supported alternatives of ``lance.encodings.ArrayEncoding``.

    ``list`` and ``struct`` are not included: they describe columns instead of arrays.
    """
    version = FileVersion.V2_0
    return [
        EncodingSpec("flat", version, decode_flat, encode_flat),
        EncodingSpec("nullable", version, decode_nullable, encode_nullable),
        EncodingSpec("fixed_size_list", version, decode_fixed_size_list, encode_fixed_size_list),
        EncodingSpec("binary", version, decode_binary, encode_binary),
        EncodingSpec("dictionary", version, decode_dictionary, encode_dictionary),
        EncodingSpec("fsst", version, decode_fsst, encode_fsst),
        EncodingSpec("bitpacked_for_non_neg", version, decode_bitpacked_for_non_neg),
        EncodingSpec("packed_struct", version, decode_packed_struct, encode_packed_struct),
    ]
