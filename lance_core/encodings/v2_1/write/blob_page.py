"""Write pages of version 1 blobs (message ``BlobLayout``) from the positions of payloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import BlobLayout, PageLayout
from lance_core.encodings.blob_payloads import DESCRIPTION
from lance_core.encodings.v2_1.levels.repdef import ItemLayer, ravel
from lance_core.encodings.v2_1.levels.shred import Leaf
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage, layers_of
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.v2_1.write.page_encoder import PageEncoder
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.v2_1.levels.repdef import Levels


@dataclass(frozen=True, slots=True)
class BlobPageEncoder:
    """Encodes pages of a leaf of (position, size) that is not inside a list."""

    context: EncodeContext

    def pages(self, leaf: Leaf) -> Iterator[tuple[LayoutPage, int]]:
        """See `PageEncoder.pages`. A null stores its levels in place of a position."""
        levels = ravel(leaf.layers)
        values = _with_levels(leaf.values, levels)
        inner = PageEncoder(FieldOptions(), self.context)
        for page, rows in inner.pages(Leaf(values, (ItemLayer(len(values), None),))):
            message = BlobLayout(inner_layout=page.layout, layers=layers_of(levels))
            yield LayoutPage(PageLayout(blob_layout=message), page.buffers), rows


def _with_levels(values: pa.StructArray, levels: Levels) -> pa.StructArray:
    positions, sizes = (np.asarray(values.field(number)) for number in range(2))
    if levels.definition is not None:
        missing = levels.definition > 0
        positions = np.where(missing, levels.definition.astype(np.uint64) << 16, positions)
        sizes = np.where(missing, np.uint64(0), sizes)
    return pa.StructArray.from_arrays(
        [pa.array(positions), pa.array(sizes)], fields=list(DESCRIPTION)
    )
