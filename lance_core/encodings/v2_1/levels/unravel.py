"""Convert levels to Arrow layers: validity bitmaps and list offsets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_EMPTYABLE_LIST, REPDEF_NULL_AND_EMPTY_LIST
from lance_core.encodings.decoding import Offsets
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.kernels.numpy.levels import Slots
from lance_core.encodings.v2_1.levels.repdef import Levels
from lance_core.lazy_dataclass import dataclass

_EVERY = (1 << 16) - 1


@dataclass(frozen=True, slots=True, eq=False)
class ArrowLayer:
    """The slots of a struct, list or value layer, ``nulls`` of which are null.

    ``validity`` has a bit for each slot; it is None if no slot is null. Slots inside a null slot of
    an outer layer are null. Lists have ``offsets``, which start at 0; null lists are empty.
    """

    count: int
    nulls: int
    validity: pa.Buffer | None
    offsets: Offsets | None


def unravel(levels: Levels, kernels: Kernels) -> list[ArrowLayer]:
    """The layers of checked levels, outermost first; each has the slots that the previous defines.

    The slots of the layer inside a list are the items of the lists that are not empty.
    """
    kinds, rep, definition = levels.kinds, levels.rep, levels.definition
    if definition is not None and not definition.any():
        definition = None  # many pages declare nulls that they do not have
    if definition is None and not kinds.max_rep:
        return [ArrowLayer(levels.count, 0, None, None)] * len(kinds.kinds)
    count = row_count(levels, kernels)
    slots = Slots(kinds.max_rep, _EVERY)
    layers: list[ArrowLayer] = []
    for layer in range(len(kinds.kinds) - 1, -1, -1):
        base, kind = kinds.bases[layer], kinds.kinds[layer]
        nulls, validity = 0, None
        if definition is not None and base < kinds.max_def:
            top = base + 1 if kind == REPDEF_EMPTYABLE_LIST else base
            also = base + 2 if kind == REPDEF_NULL_AND_EMPTY_LIST else 0
            _, nulls, validity = kernels.layer_slots(rep, definition, slots, top, also)
        offsets = None
        if kinds.is_list(layer):
            assert rep is not None
            present = definition if base < kinds.max_def else None
            offsets = kernels.layer_offsets(rep, present, slots, base, count)
            slots = Slots(slots.rank - 1, base if present is not None else slots.limit)
        layers.append(ArrowLayer(count, nulls, validity, offsets))
        if offsets is not None:
            count = int(offsets[-1])
    return layers


def row_count(levels: Levels, kernels: Kernels) -> int:
    """The number of rows of the levels."""
    if levels.rep is None or not levels.kinds.max_rep:
        return levels.count
    # The levels with ``rep == max_rep`` start a row; `rank_levels` counts the others.
    edges = np.array([0, levels.count], np.int64)
    below = kernels.rank_levels(levels.rep, levels.kinds.max_rep - 1, edges)
    return levels.count - int(below[0])
