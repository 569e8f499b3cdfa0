"""Select the layout of a page's values: mini-block or full-zip."""

from __future__ import annotations

import enum
from math import prod
from typing import TYPE_CHECKING

from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
)
from lance_core.encodings.v2_1.selection.options import STRUCTURAL_KEY
from lance_core.encodings.v2_1.selection.values import longest
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    from lance_core.encodings.v2_1.selection.options import FieldOptions

NARROW = 256
"""Bytes of the longest value from which on a page is full-zip."""


class Structure(enum.Enum):
    """The layouts of pages that store values."""

    MINI_BLOCK = "miniblock"
    FULL_ZIP = "fullzip"


def choose_structure(values: Values, options: FieldOptions) -> Structure:
    """The layout for the ``values`` of a leaf with the ``options`` of its field.

    Applies only to values without a dictionary; values with one are always in mini-blocks. Raises
    `InvalidInputError` if the metadata requests an unknown layout.
    """
    # Before what is requested: each of the two encodings of packed structs occurs in one layout.
    if isinstance(values, StructValues):
        is_fixed = all(isinstance(child, FixedWidth) for child in values.children)
        return Structure.MINI_BLOCK if is_fixed else Structure.FULL_ZIP
    if isinstance(values, FixedSizeListValues) and not (values.values.bits and values.values.count):
        return Structure.FULL_ZIP  # no chunk can store lists without a non-null item
    requested = options.structural_encoding
    if requested is None:
        return Structure.MINI_BLOCK if _width(values) < NARROW else Structure.FULL_ZIP
    try:
        structure = Structure(requested)
    except ValueError:
        raise InvalidInputError(
            f"{STRUCTURAL_KEY} is {requested!r}; there are miniblock and fullzip"
        ) from None
    return Structure.MINI_BLOCK if _is_ragged(values) else structure


def _is_ragged(values: Values) -> bool:
    """True if values would not have whole bytes in a full-zip page.

    Lists of booleans are stored as bits. pylance 14 rejects pages of such lists if they do not have
    whole bytes, or if they have null items.
    """
    if not isinstance(values, FixedSizeListValues) or values.values.bits != 1:
        return False
    has_nulls = any(bitmap is not None for bitmap in values.validity)
    return has_nulls or prod(values.dimensions) % 8 != 0


def _width(values: Values) -> int:
    """Bytes of the longest value; booleans count as 0 bytes, also within lists."""
    if isinstance(values, FixedWidth):
        return values.bits // 8
    if isinstance(values, FixedSizeListValues):
        return values.values.bits // 8 * prod(values.dimensions)
    if isinstance(values, StructValues):
        return sum(map(_width, values.children))
    return longest(values)
