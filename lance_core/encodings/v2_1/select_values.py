"""Which compressive encodings the values of a page get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.compressive import Encoded, Place, Target, encode
from lance_core.encodings.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)

if TYPE_CHECKING:
    from lance_core.encodings.structural import EncodeContext
    from lance_core.encodings.v2_1.options import FieldOptions

_PLAIN: dict[type[Values], tuple[str, ...]] = {
    FixedWidth: ("flat",),
    VariableWidth: ("variable",),
    FixedSizeListValues: ("fixed_size_list",),
    StructValues: ("packed_struct", "flat"),
}


def mini_block_values(
    values: Values, type_: pa.DataType, options: FieldOptions, context: EncodeContext
) -> Encoded:
    """``values``, which are of ``type_``, in chunks of a mini-block page."""
    target = Target(Place.MINI_BLOCK, context.registry, _PLAIN[type(values)])
    return encode(values, target)


def per_value(
    values: Values, type_: pa.DataType, options: FieldOptions, context: EncodeContext
) -> Encoded:
    """``values``, which are of ``type_``, one by one for a full-zip page."""
    chain = _PLAIN[type(values)]
    if isinstance(values, StructValues):
        chain = ("variable_packed_struct",)
    return encode(values, Target(Place.PER_VALUE, context.registry, chain))
