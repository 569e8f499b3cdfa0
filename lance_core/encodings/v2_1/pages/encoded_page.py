"""A page as the layout writers return it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import PageLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core._pb.encodings_v2_1_pb2 import RepDefLayer
    from lance_core.encodings.v2_1.levels.repdef import Levels


class LayoutPage(NamedTuple):
    """The message of a page and its buffers, in the order that the layout prescribes."""

    layout: PageLayout
    buffers: list[pa.Buffer]


def layers_of(levels: Levels) -> Sequence[RepDefLayer.ValueType]:
    """The kinds of the layers of ``levels``, innermost first, as messages store them."""
    layers: Sequence[RepDefLayer.ValueType] = levels.kinds.kinds  # type: ignore[assignment]  # ints
    return layers
