"""An example plugin: an encoding for floating-point numbers that were written as decimals.

This is the entry module, which says what there is.
"""

from __future__ import annotations

import pyarrow as pa

from lance_core.hookspecs import EncodingSpec, ValueEncodingSpec, hookimpl
from lance_core_example_alp.alp import decode, encode

SPEC = ValueEncodingSpec(
    key="/example.org/alp",
    name="alp",
    distribution="lance-core-example-vault",
    encoder=encode,
    decoder=decode,
    accepts=lambda type_: type_ in (pa.float32(), pa.float64()),
)


@hookimpl
def lance_encodings() -> list[EncodingSpec]:
    """``alp``, by the metadata ``lance-encoding:encoding`` of a field."""
    return [SPEC]
