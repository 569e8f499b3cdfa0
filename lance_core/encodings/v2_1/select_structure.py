"""Whether the values of a page are put into chunks or zipped with their control words."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow_values import values_of
from lance_core.encodings.values import FixedSizeListValues, FixedWidth, StructValues, Values

if TYPE_CHECKING:
    from lance_core.encodings.structural import EncodeContext
    from lance_core.encodings.v2_1.options import FieldOptions

_NARROW = 256


class Structure(enum.Enum):
    """The layouts of pages that hold values."""

    MINI_BLOCK = "miniblock"
    FULL_ZIP = "fullzip"


def choose_structure(
    array: pa.Array, options: FieldOptions, context: EncodeContext, has_lists: bool
) -> Structure:
    """The layout for the values of ``array``, a leaf of the field that ``options`` are of."""
    values = values_of(array)
    if _has_variable_child(values):
        return Structure.FULL_ZIP
    for structure in Structure:
        if options.structural_encoding == structure.value:
            return structure
    return Structure.MINI_BLOCK if _longest(values) < _NARROW else Structure.FULL_ZIP


def _has_variable_child(values: Values) -> bool:
    return isinstance(values, StructValues) and not all(
        isinstance(child, FixedWidth) for child in values.children
    )


def _longest(values: Values) -> int:
    """Bytes of the longest value."""
    if isinstance(values, FixedWidth):
        return values.bits // 8
    if isinstance(values, FixedSizeListValues):
        return values.values.bits * int(np.prod(values.dimensions)) // 8
    if isinstance(values, StructValues):
        return sum(_longest(child) for child in values.children)
    return int(np.diff(values.offsets).max()) if values.count else 0
