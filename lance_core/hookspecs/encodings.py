"""Everything that the author of an encoding needs.

A `ValueEncodingSpec` converts values to bytes and back, for fields whose metadata has its name at
`ENCODING_KEY`. An `EncodingSpec` is an alternative of one of the format's messages.
"""

from lance_core.encodings.plugin_values.value_encoding import ENCODING_KEY, ValueEncodingSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec

__all__ = [
    "ENCODING_KEY",
    "EncodingFamily",
    "EncodingSpec",
    "ValueEncodingSpec",
]
