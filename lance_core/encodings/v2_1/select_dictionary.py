"""Which values are stored once, in a dictionary beside the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.values import FixedWidth, Values

if TYPE_CHECKING:
    from lance_core.encodings.structural import EncodeContext
    from lance_core.encodings.v2_1.options import FieldOptions


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryValues:
    """``count`` distinct ``items``, and for each slot of a page which one it is."""

    indices: FixedWidth
    items: Values
    count: int


def as_dictionary(
    array: pa.Array, options: FieldOptions, context: EncodeContext
) -> DictionaryValues | None:
    """The values of ``array`` with a dictionary, if that makes them smaller."""
    return None
