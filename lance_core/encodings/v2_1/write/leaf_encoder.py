"""Write one leaf column of a 2.1 or 2.2 file: buffers rows until they fill a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lance_core.encodings.arrow.dictionary_items import copied
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.levels.repdef import ListLayer
from lance_core.encodings.v2_1.levels.shred import Leaf, joined
from lance_core.errors import PluginError, ResultTooLargeError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage

_LEVELS_PER_VALUE = 4
"""Maximum memory of buffered layers, as a multiple of the bytes of a page's values."""


class PagesOfLeaf(Protocol):
    """Encodes pages of a leaf, as `PageEncoder` does."""

    def pages(self, leaf: Leaf) -> Iterable[tuple[LayoutPage, int]]:
        """The pages for at least one row, in order, each with its number of rows."""


class LeafEncoder:
    """Encodes column ``column`` of a top-level field, with ``scale`` rows per row of the field.

    Small arrays are copied on arrival, so that the larger memory of which they are a part can be
    freed (unless `EncodeContext.arrays_stay`), and are joined to a page. An array that fills at
    least half a page is encoded without this copy. Rows are never split.
    """

    def __init__(
        self, column: int, path: str, scale: int, encoder: PagesOfLeaf, context: EncodeContext
    ) -> None:
        self.column = column
        self._path = path
        self._scale = scale
        self._context = context
        self._encoder = encoder
        self._leaves: list[Leaf] = []
        """Buffered rows."""
        self._row = 0
        """The row of the field to which the first buffered value belongs."""
        self._num_bytes = self._layer_bytes = 0

    def write(self, leaf: Leaf, row: int) -> Iterable[EncodedPage]:
        """Append the values of the rows from ``row`` on; returns the pages that are full.

        Each page is encoded when it is asked for, and all must be.
        """
        size, limit = _num_bytes(leaf.values), self._context.flush_bytes
        if size > limit // 2:
            return chain(self.flush(), self._split(leaf, size, row))
        if not self._leaves:
            self._row = row
        if not self._context.arrays_stay:
            leaf = Leaf(copied(leaf.values), leaf.layers)
        self._leaves.append(leaf)
        self._num_bytes += size
        self._layer_bytes += _layer_bytes(leaf)
        if self._num_bytes > limit or self._layer_bytes > _LEVELS_PER_VALUE * limit:
            return self.flush()
        return ()

    def flush(self) -> Iterable[EncodedPage]:
        """The pages of all buffered rows; each is encoded when it is asked for, and all must be."""
        leaves, row, size = self._leaves, self._row, self._num_bytes
        self._leaves, self._num_bytes, self._layer_bytes = [], 0, 0
        if not leaves:
            return ()
        if len(leaves) == 1:
            return self._split(leaves[0], size, row)
        try:
            parts = [joined(leaves)]
        except ResultTooLargeError:  # or one dictionary cannot hold the items of all dictionaries
            parts = leaves
        else:
            leaves.clear()
        pages = []
        for leaf in parts:
            pages.append(self._split(leaf, _num_bytes(leaf.values), row))
            row += leaf.layers[0].count // self._scale
        return chain.from_iterable(pages)

    def _split(self, leaf: Leaf, size: int, row: int) -> Iterable[EncodedPage]:
        """Split rows into pages of `EncodeContext.max_page_bytes`, as if rows were equal."""
        rows = leaf.layers[0].count // self._scale
        parts = max(1, min(-(-size // self._context.max_page_bytes), rows))
        return self._pages(leaf, row) if parts == 1 else self._parts(leaf, rows, parts, row)

    def _parts(self, leaf: Leaf, rows: int, parts: int, row: int) -> Iterator[EncodedPage]:
        step = -(-rows // parts) * self._scale
        for start in range(0, rows * self._scale, step):
            stop = min(start + step, rows * self._scale)
            yield from self._pages(leaf.rows(start, stop), row + start // self._scale)

    def _pages(self, leaf: Leaf, row: int) -> Iterator[EncodedPage]:
        """The pages of some rows; a single page if possible."""
        try:
            for page, count in self._encoder.pages(leaf):
                message = page.layout.SerializeToString()
                yield EncodedPage(self.column, page.buffers, message, count, row)
                row += count // self._scale
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self._path!r}: {error}") from error
        except PluginError as error:
            raise error.at(field=self._path) from error


def _num_bytes(array: pa.Array) -> int:
    """Bytes of values. Dictionary items are not counted, as many arrays may share them."""
    values = array.indices if isinstance(array, pa.DictionaryArray) else array
    return int(values.nbytes)


def _layer_bytes(leaf: Leaf) -> int:
    total = 0
    for layer in leaf.layers:
        total += 0 if layer.valid is None else layer.valid.nbytes
        total += layer.offsets.nbytes if isinstance(layer, ListLayer) else 0
    return total
