"""Encode small fields of one type together: the single page of each leaf, in few calls of numpy.

The bytes are those of `lance_core.encodings.v2_1.write.page_encoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.arrow_values import flat_values_of, values_of
from lance_core.encodings.v2_1.codecs.flat import flat_encoding
from lance_core.encodings.v2_1.codecs.values import FixedSizeListValues, as_fixed, as_variable
from lance_core.encodings.v2_1.fast.group_pages import (
    GroupValues,
    flat_values,
    group_pages,
    joined,
    number_values,
    stored_dictionaries,
    text_values,
)
from lance_core.encodings.v2_1.fast.leaf_columns import leaf_columns
from lance_core.encodings.v2_1.fast.small_column_selection import (
    CODECS,
    ColumnValues,
    column_dictionaries,
    level_codecs,
    number_codecs,
    texts_are_short,
    values_mask,
)
from lance_core.encodings.v2_1.levels.tree import Node
from lance_core.encodings.v2_1.pages.constant.writer import (
    constant_of,
    constant_page,
    null_page,
    texts_are_same,
)
from lance_core.encodings.v2_1.selection.blocks import encode_block
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.encodings.v2_1.selection.values import mini_block_values
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.fast.leaf_columns import LeafColumns, Positions
    from lance_core.encodings.v2_1.fast.small_column_selection import Rows
    from lance_core.encodings.v2_1.levels.repdef import BoolArray
    from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
    from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary

_DICTIONARY_BITS = 128
"""Bits of wide values that may have a dictionary."""


def pages_together(
    columns: Mapping[int, pa.Array], roots: Mapping[int, Node], context: EncodeContext
) -> dict[int, list[EncodedPage]]:
    """The pages of each field that has alike others, a single one for each leaf, by field number.

    ``roots``: the trees of those fields that have children.
    """
    alike: dict[tuple[pa.DataType, bool], list[int]] = {}
    for number, values in columns.items():
        alike.setdefault((values.type, values.null_count > 0), []).append(number)
    pages: dict[int, list[EncodedPage]] = {}
    for (type_, _), numbers in alike.items():
        if len(numbers) > 1:
            root = roots.get(numbers[0]) or Node(type_, is_leaf=True)
            arrays = [columns[number] for number in numbers]
            for leaves in leaf_columns(numbers, arrays, root):
                pages |= _pages_of_fields(leaves, context)
    return pages


def _pages_of_fields(
    leaves: Sequence[LeafColumns], context: EncodeContext
) -> dict[int, list[EncodedPage]]:
    """The pages of those fields whose leaves all have one."""
    if len(leaves) == 1:
        return {number: [page] for number, page in _pages_of(leaves[0], context).items()}
    pages = [_pages_of(leaf, context) for leaf in leaves]
    return {
        number: [own[number]._replace(column=column) for column, own in enumerate(pages)]
        for number in leaves[0].numbers
        if all(number in own for own in pages)
    }


def _pages_of(columns: LeafColumns, context: EncodeContext) -> dict[int, EncodedPage]:
    """The pages of columns by field number; those whose chunks are too large are left out."""
    pages: dict[int, EncodedPage] = {}
    alike: dict[object, list[int]] = {}
    rep = level_codecs(columns.levels.rep, columns.level_edges, context)
    definition = level_codecs(columns.levels.definition, columns.level_edges, context)
    is_new = context.version >= FileVersion.V2_2
    for position, (start, stop) in enumerate(pairwise(columns.edges.tolist())):
        valid = columns.valid
        if start < stop and (valid is None or valid[start:stop].any()):
            alike.setdefault((rep[position], definition[position]), []).append(position)
            continue
        block = (lambda part: encode_block(part, None, context)) if is_new else None
        page = null_page(columns.levels_of(position), block)
        pages[columns.numbers[position]] = _page(page, columns.rows)
    for positions in alike.values():
        pages |= _pages_with_values(columns.select(np.array(positions)), context)
    return pages


def _pages_with_values(columns: LeafColumns, context: EncodeContext) -> dict[int, EncodedPage]:
    """The pages of columns that all have values, and whose levels have the same encoding."""
    by_chunks: dict[int, list[int]] = {}
    for position, count in enumerate(np.diff(columns.edges).tolist()):
        by_chunks.setdefault(-(-count // CHUNK), []).append(position)
    pages: dict[int, EncodedPage] = {}
    alike: dict[tuple[bytes, int], list[_Stored]] = {}
    for positions in by_chunks.values():
        group = _Group(columns, np.array(positions), context)
        pages |= group.pages
        for stored in group.stored:
            encoding = stored.values.encoding.SerializeToString()
            alike.setdefault((encoding, len(stored.values.buffers)), []).append(stored)
    for parts in alike.values():
        order = np.concatenate([part.positions for part in parts])
        values, own = joined([part.values for part in parts]), columns.select(order)
        dictionaries = [item for part in parts for item in part.dictionaries]
        with_values = group_pages(values, own, dictionaries, context)
        if with_values is not None:
            pages |= zip(own.numbers, with_values, strict=True)
    return pages


class _Stored(NamedTuple):
    """The values of the columns at ``positions``, encoded, with the dictionary of each."""

    positions: Positions
    values: GroupValues
    dictionaries: Sequence[StoredDictionary | None]


class _Group:
    """Columns of one type, of as many chunks of 1024 values, at least one that is not null each.

    ``pages`` has the pages of constants, by field number; ``stored`` the values of other columns.
    Neither has columns that must be encoded alone.
    """

    def __init__(self, columns: LeafColumns, positions: Positions, context: EncodeContext) -> None:
        """Has the ``columns`` at ``positions``."""
        self._columns = own = columns.select(positions)
        self._positions = positions
        self._counts = counts = np.diff(own.edges)
        self._most = int(counts.max())
        self._is_value = values_mask(counts)
        self._valid = self._is_value
        if own.valid is not None:
            self._valid = self._in_rows(own.valid, self._most)
        self._context = context
        self._type = own.values.type
        self._is_new = context.version >= FileVersion.V2_2
        self.pages: dict[int, EncodedPage] = {}
        self.stored: list[_Stored] = []
        if pa.types.is_fixed_size_list(self._type):
            self._add_lists()
        elif is_variable(self._type):
            self._add_texts()
        elif self._type.bit_width in WIDTHS:
            self._add_numbers()
        else:
            self._add_others()

    def _add_lists(self) -> None:
        lists = values_of(self._columns.values)
        assert isinstance(lists, FixedSizeListValues)
        items = lists.values
        if items.bits and items.bits % 8 == 0 and not any(lists.validity):
            first = values_of(self._columns.column(0))
            encoding = mini_block_values(first, self._type, NO_OPTIONS, self._context).encoding
            bits = items.bits * prod(lists.dimensions)
            values = flat_values(encoding, items.buffer(), bits, self._counts)
            self._store(np.arange(len(self._counts)), values)

    def _in_rows(self, values: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
        """The values of all columns as rows, padded with zeros to ``width``."""
        if self._is_value is None and width == self._most:
            return values.reshape(-1, width)
        rows = np.zeros((len(self._counts), width), values.dtype)
        if self._is_value is None:
            rows[:, : self._most] = values.reshape(len(rows), -1)
        else:
            rows[:, : self._most][self._is_value] = values
        return rows

    def _add_numbers(self) -> None:
        size = self._type.bit_width // 8
        octets = as_fixed(values_of(self._columns.values)).octets()
        words = self._in_rows(octets.view(f"<u{size}"), self._padded)
        positions = self._without_constants(lambda: _are_same(words[:, : self._most], self._valid))
        if self._is_new and size == 8:
            positions = self._without_dictionaries(words, positions)
        self._store_fixed(positions, _rows(words, positions))

    @property
    def _padded(self) -> int:
        """The number of values of whole chunks."""
        return -(-self._most // CHUNK) * CHUNK

    def _add_others(self) -> None:
        """Booleans, and values that are wider than numbers."""
        bits = self._type.bit_width
        if bits == 1:
            columns = map(self._columns.column, range(len(self._counts)))
            parts = [as_fixed(values_of(column)).octets() for column in columns]
            positions = self._without_constants(
                lambda: np.array([self._bits_are_same(*part) for part in enumerate(parts)])
            )
        else:
            octets = as_fixed(values_of(self._columns.values)).octets()
            values = self._in_rows(octets.view(f"V{bits // 8}"), self._most)
            positions = self._without_constants(lambda: _are_same(values, self._valid))
            if bits == _DICTIONARY_BITS:
                positions = self._without_dictionaries(values, positions)
            parts = [row[:count] for row, count in zip(values, self._counts.tolist(), strict=True)]
        if len(positions):
            data = pa.py_buffer(b"".join([parts[position] for position in positions.tolist()]))
            counts = self._counts[positions]
            self._store(positions, flat_values(flat_encoding(bits), data, bits, counts))

    def _without_dictionaries(self, rows: npt.NDArray[Any], positions: Positions) -> Positions:
        """Store those columns that get dictionaries; returns the ``positions`` of the others.

        ``rows`` has the values of all columns, with padding.
        """
        size = rows.itemsize
        firsts = np.arange(0, rows.nbytes, rows.shape[1] * size)
        edges = firsts[:, None] + self._within * size
        values = ColumnValues(rows.view(np.uint8).reshape(-1), edges, self._counts)
        return self._without_coded(values, positions)

    @property
    def _within(self) -> Int64Array:
        """The edges of the values of a column, the last one repeated for shorter ones."""
        edges = np.arange(self._most + 1)
        return edges if self._is_value is None else np.minimum(edges, self._counts[:, None])

    def _add_texts(self) -> None:
        texts = as_variable(values_of(self._columns.values))
        # The last edge of a column is the first one of the next.
        offsets = texts.offsets.astype(np.int64)[self._columns.edges[:-1, None] + self._within]
        values = ColumnValues(texts.octets(), offsets, self._counts, texts.offset_bits // 8)
        positions = self._without_constants(lambda: self._texts_are_same(values))
        positions = positions[np.diff(offsets, axis=1).max(axis=1)[positions] < NARROW]
        positions = self._without_coded(values, positions)
        positions = positions[texts_are_short(values, self._type)[positions]]
        if len(positions):
            chosen = values.select(positions)
            self._store(positions, text_values(chosen, self._type, self._context))

    def _texts_are_same(self, values: ColumnValues) -> BoolArray:
        """For each column, if all texts that are not null are equal."""
        same = np.zeros(len(values.edges), np.bool_)
        for position in np.flatnonzero(self._may_be_same(values)).tolist():
            if self._columns.valid is None:
                same[position] = texts_are_same(values.texts(position))
            else:
                column = self._columns.column(position)
                valid = self._valid_of(position)
                same[position] = constant_of(column, valid, flat_values_of(column)) is not None
        return same

    def _may_be_same(self, values: ColumnValues) -> npt.NDArray[np.bool_]:
        """For each column, False if its first and its last text that is not null differ."""
        rows = np.arange(len(self._columns.numbers))
        first, last = np.zeros_like(rows), np.full_like(rows, self._most - 1)
        if self._valid is not None:
            first, last = self._valid.argmax(axis=1), last - self._valid[:, ::-1].argmax(axis=1)
        starts, others = values.edges[rows, first], values.edges[rows, last]
        lengths = values.edges[rows, first + 1] - starts
        same = lengths == values.edges[rows, last + 1] - others
        if len(values.data):
            for at in (np.zeros_like(lengths), lengths // 2, np.maximum(lengths - 1, 0)):
                octets = values.data.take([starts + at, others + at], mode="clip")
                same &= (octets[0] == octets[1]) | (lengths == 0)
        return np.asarray(same)

    def _valid_of(self, position: int) -> BoolArray:
        assert self._columns.valid is not None
        start, stop = self._columns.edges[position : position + 2]
        return self._columns.valid[start:stop]

    def _bits_are_same(self, position: int, octets: npt.NDArray[np.uint8]) -> bool:
        """True if all bits of a column that are not null are equal."""
        bits = np.unpackbits(octets, count=int(self._counts[position]), bitorder="little")
        if self._columns.valid is not None:
            bits = bits[self._valid_of(position)]
        return int(np.count_nonzero(bits)) in (0, len(bits))

    def _without_constants(self, are_same: Callable[[], BoolArray]) -> Positions:
        """Add the pages of columns whose values are equal; returns the positions of the others."""
        if not self._is_new:
            return np.arange(len(self._columns.numbers))
        same = are_same()
        for position in np.flatnonzero(same).tolist():
            first = int(self._columns.edges[position])
            if self._valid is not None:
                first += int(self._valid[position].argmax())
            levels = self._columns.levels_of(position)
            page = constant_page(levels, self._columns.values.slice(first, 1))
            self.pages[self._columns.numbers[position]] = _page(page, self._columns.rows)
        return np.flatnonzero(~same)

    def _without_coded(self, values: ColumnValues, positions: Positions) -> Positions:
        """Store those columns that get dictionaries; returns the ``positions`` of the others."""
        coded = column_dictionaries(values, positions, self._context.kernels)
        if coded is None:
            return positions
        words = np.zeros((len(coded.positions), self._padded), np.uint32)
        words[:, : self._most] = coded.codes
        if self._is_value is not None:
            words[:, : self._most] *= self._is_value[coded.positions]
        self._store_fixed(coded.positions, words, stored_dictionaries(coded.items, self._context))
        return np.setdiff1d(positions, coded.positions, assume_unique=True)

    def _store_fixed(
        self,
        positions: Positions,
        words: Rows,
        dictionaries: Sequence[StoredDictionary] | None = None,
    ) -> None:
        """Store columns; ``words`` has their numbers, or their codes in ``dictionaries``, as rows.

        These are padded with zeros to whole chunks of 1024 values.
        """
        if not len(positions):
            return
        counts = self._counts[positions]
        codecs = number_codecs(words, counts, self._context.kernels)
        for number, codec in enumerate(CODECS):
            chosen = np.flatnonzero(codecs == number)
            if len(chosen):
                rows = _rows(words, chosen)
                values = number_values(rows, counts[chosen], codec, self._context)
                if values is not None:
                    own = dictionaries and [dictionaries[row] for row in chosen.tolist()]
                    self._store(positions[chosen], values, own)

    def _store(
        self,
        positions: Positions,
        values: GroupValues,
        dictionaries: Sequence[StoredDictionary] | None = None,
    ) -> None:
        own: Sequence[StoredDictionary | None] = dictionaries or [None] * len(positions)
        self.stored.append(_Stored(self._positions[positions], values, own))


def _page(page: LayoutPage, count: int) -> EncodedPage:
    return EncodedPage(0, page.buffers, page.layout.SerializeToString(), count, 0)


def _rows(values: npt.NDArray[Any], positions: Positions) -> npt.NDArray[Any]:
    """The rows at ``positions``, which ascend; all rows are not copied."""
    return values if len(positions) == len(values) else values[positions]


def _are_same(
    values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.bool_]:
    """For each row, if all values that are not null have the same bits."""
    if valid is None:
        return np.asarray((values == values[:, :1]).all(axis=1))
    firsts = values[np.arange(len(values)), valid.argmax(axis=1)]
    return np.asarray(((values == firsts[:, None]) | ~valid).all(axis=1))
