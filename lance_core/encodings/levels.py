"""What is read off repetition and definition levels, with numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError

LevelArray = npt.NDArray[np.uint16]


def level_items(
    repetition: LevelArray,
    definition: LevelArray | None,
    starts: Int64Array,
    depth: int,
    base: int,
) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.level_items`."""
    count = len(repetition)
    if definition is not None and len(definition) != count:
        raise CorruptFileError(f"{count} repetition and {len(definition)} definition levels")
    if len(starts) and (starts[0] < 0 or starts[-1] >= count or (np.diff(starts) <= 0).any()):
        raise CorruptFileError(f"lists do not start at ascending ones of {count} levels")
    is_item = repetition >= depth
    if definition is not None:
        is_item &= definition <= base
    before = np.zeros(count + 1, np.int64)
    np.cumsum(is_item, out=before[1:])
    offsets = np.append(before[starts], before[-1:])
    return np.flatnonzero(is_item), offsets
