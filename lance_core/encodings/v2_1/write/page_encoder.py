"""Encode leaf values and layers as pages of 2.1 and 2.2 files, and select the page layout.

The order of preference is: all null, constant (2.2), dictionary, mini-block or full-zip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.arrow.take import filter_rows
from lance_core.encodings.plugin_values.value_encoding import find_value_encoding
from lance_core.encodings.v2_1.codecs.arrow_values import flat_values_of, values_of
from lance_core.encodings.v2_1.levels.repdef import ravel
from lance_core.encodings.v2_1.pages.constant.writer import (
    constant_of,
    constant_page,
    empty_struct_page,
    null_page,
)
from lance_core.encodings.v2_1.pages.foreign.writer import foreign_page
from lance_core.encodings.v2_1.pages.full_zip.writer import full_zip_page
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import MOST_LEVELS
from lance_core.encodings.v2_1.pages.mini_block.writer import (
    StoredDictionary,
    mini_block_can_hold,
    mini_block_page,
)
from lance_core.encodings.v2_1.selection.blocks import encode_block, encode_levels
from lance_core.encodings.v2_1.selection.dictionary import (
    ValuesWithDictionary,
    as_dictionary,
    of_keys,
)
from lance_core.encodings.v2_1.selection.structure import Structure, choose_structure
from lance_core.encodings.v2_1.selection.values import mini_block_values, per_value
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.v2_1.codecs.values import FlatValues, Values
    from lance_core.encodings.v2_1.levels.repdef import Levels
    from lance_core.encodings.v2_1.levels.shred import Leaf
    from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
    from lance_core.encodings.v2_1.selection.options import FieldOptions


@dataclass(frozen=True, slots=True)
class PageEncoder:
    """Encodes pages of one leaf; ``options`` are requested by its field."""

    options: FieldOptions
    context: EncodeContext

    def pages(self, leaf: Leaf) -> Iterable[tuple[LayoutPage, int]]:
        """The pages for at least one row, in order, each with its number of rows.

        The result has several pages only if there are too many levels between values.
        """
        levels, rows = ravel(leaf.layers), leaf.layers[0].count
        values = flat_values_of(leaf.values)
        page = self._without_values(leaf, levels, values)
        if page is None and self.options.encoding is not None:
            page = self._foreign(leaf, levels, self.options.encoding)
        if page is None:
            page = self._with_values(leaf, levels, values)
        if page is None and rows == 1:
            page = self._full_zip(leaf, levels)
        if page is not None:
            return [(page, rows)]
        return chain.from_iterable(map(self.pages, _parts(leaf, levels)))

    def _without_values(
        self, leaf: Leaf, levels: Levels, values: FlatValues | None
    ) -> LayoutPage | None:
        """The page, if all values are null or equal; else None."""
        array, valid = leaf.values, leaf.layers[-1].valid
        if values is None and pa.types.is_struct(array.type) and not array.type.num_fields:
            if levels.rep is not None or levels.definition is not None:
                raise UnsupportedFeatureError("structs without members cannot be null or in lists")
            return empty_struct_page()
        compresses = self.context.version >= FileVersion.V2_2
        if not len(array) or (valid is not None and not valid.any()):
            context = self.context
            return null_page(
                levels, (lambda part: encode_block(part, None, context)) if compresses else None
            )
        if not compresses:
            return None
        value = constant_of(array, valid, values)
        return None if value is None else constant_page(levels, value)

    def _foreign(self, leaf: Leaf, levels: Levels, encoding: str) -> LayoutPage:
        """The page in an encoding of a plugin."""
        context = self.context
        return foreign_page(
            levels,
            leaf.values,
            find_value_encoding(encoding, context.registry, "a field"),
            lambda part, edges: encode_levels(part, edges, context),
            context.version >= FileVersion.V2_2,
        )

    def _dictionary(self, leaf: Leaf, values: FlatValues | None) -> ValuesWithDictionary | None:
        if values is not None:
            return as_dictionary(values, self.options, self.context)
        return of_keys(leaf.values) if pa.types.is_dictionary(leaf.values.type) else None

    def _with_values(
        self, leaf: Leaf, levels: Levels, flat: FlatValues | None
    ) -> LayoutPage | None:
        """The page with all values; None if there are too many levels between them.

        ``flat``: `flat_values_of` the leaf.
        """
        dictionary = self._dictionary(leaf, flat)
        if dictionary is not None:
            items, data = encode_block(dictionary.items, self.options, self.context)
            stored = StoredDictionary(items, data, dictionary.count)
            return self._mini_block(leaf, levels, dictionary.indices, stored)
        values = values_of(leaf.values) if flat is None else flat
        if choose_structure(values, self.options) is Structure.FULL_ZIP:
            return self._full_zip(leaf, levels)
        return self._mini_block(leaf, levels, values, None)

    def _mini_block(
        self, leaf: Leaf, levels: Levels, values: Values, dictionary: StoredDictionary | None
    ) -> LayoutPage | None:
        """``values`` are those of ``leaf``, or their indices in the ``dictionary``."""
        options, context = self.options, self.context
        type_ = leaf.values.type if dictionary is None else pa.uint32()
        encoded = mini_block_values(values, type_, options, context)
        large = context.version >= FileVersion.V2_2
        has_levels = levels.rep is not None or levels.definition is not None
        if has_levels and not mini_block_can_hold(levels, encoded, large):
            return self._full_zip(leaf, levels)
        page = mini_block_page(
            levels,
            encoded,
            lambda part, edges: encode_levels(part, edges, context),
            large,
            context.kernels,
            dictionary,
        )
        # Without levels, only values can make a chunk too large, and fewer rows do not help.
        return page if has_levels or page is not None else self._full_zip(leaf, levels)

    def _full_zip(self, leaf: Leaf, levels: Levels) -> LayoutPage:
        array, valid = leaf.values, leaf.layers[-1].valid
        if pa.types.is_dictionary(array.type):
            raise UnsupportedFeatureError(
                f"a row of more than {MOST_LEVELS} lists in a column of {array.type}"
            )
        if valid is not None and (is_variable(array.type) or pa.types.is_struct(array.type)):
            # a null has no stored value and no length
            array = filter_rows(array, from_numpy(valid))
        values = values_of(array)
        encoded = per_value(values, array.type, self.options, self.context)
        return full_zip_page(levels, encoded)


def _parts(leaf: Leaf, levels: Levels) -> Iterator[Leaf]:
    """The leaf, split between rows so that each part has few levels or a single row."""
    starts = levels.row_starts()
    starts = np.arange(levels.count) if starts is None else starts
    edges = np.append(starts, levels.count)
    limit = min(MOST_LEVELS, levels.count // 2)
    row, rows = 0, len(starts)
    while row < rows:
        stop = int(np.searchsorted(edges, edges[row] + limit, side="right")) - 1
        stop = min(max(stop, row + 1), rows)
        yield leaf.rows(row, stop)
        row = stop
