"""Encode small columns of one type together: the single page of each, in few calls of numpy.

The bytes are those of `lance_core.encodings.v2_1.write.page_encoder`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.arrow_values import flat_values_of, values_of
from lance_core.encodings.v2_1.codecs.values import as_fixed, as_variable
from lance_core.encodings.v2_1.fast.group_pages import (
    GroupValues,
    flat_values,
    group_pages,
    number_values,
    stored_dictionaries,
    text_values,
)
from lance_core.encodings.v2_1.fast.small_column_selection import (
    CODECS,
    ColumnValues,
    column_dictionaries,
    levels_have_runs,
    number_codecs,
    texts_are_short,
)
from lance_core.encodings.v2_1.levels.repdef import ItemLayer, ravel
from lance_core.encodings.v2_1.pages.constant.writer import (
    constant_of,
    constant_page,
    null_page,
    texts_are_same,
)
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.v2_1.fast.small_column_selection import Rows
    from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
    from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary

_DICTIONARY_BITS = 128
"""Bits of wide values that may have a dictionary."""

Positions = npt.NDArray[np.intp]
"""Positions of columns of a group."""


def pages_together(
    columns: Mapping[int, pa.Array], context: EncodeContext
) -> dict[int, EncodedPage]:
    """The single page of each column that has alike others, by column number."""
    alike: dict[tuple[pa.DataType, bool], list[int]] = {}
    for number, values in columns.items():
        alike.setdefault((values.type, values.null_count > 0), []).append(number)
    pages: dict[int, EncodedPage] = {}
    for (_, has_nulls), numbers in alike.items():
        if len(numbers) > 1:
            rows = _joined(numbers, [columns[number] for number in numbers], has_nulls)
            pages |= _pages_of(rows, context)
    return pages


class _Columns(NamedTuple):
    """Columns of one type with as many ``rows``, which follow each other in ``values``.

    ``valid``: for each column the values that are not null, if all columns have nulls; None if none
    has.
    """

    numbers: Sequence[int]
    values: pa.Array
    rows: int
    valid: npt.NDArray[np.bool_] | None

    def column(self, position: int) -> pa.Array:
        return self.values.slice(position * self.rows, self.rows)

    def select(self, positions: Positions) -> _Columns:
        """The columns at ``positions``, which ascend; all columns are not copied."""
        if len(positions) == len(self.numbers):
            return self
        chosen = positions.tolist()
        values = pa.concat_arrays(list(map(self.column, chosen)))
        valid = None if self.valid is None else self.valid[positions]
        return _Columns([self.numbers[position] for position in chosen], values, self.rows, valid)


def _joined(numbers: Sequence[int], arrays: Sequence[pa.Array], has_nulls: bool) -> _Columns:
    """Columns of one type and length, which all have nulls or none has."""
    values = pa.concat_arrays(arrays)
    valid = None
    if has_nulls:
        valid = np.asarray(values.is_valid()).reshape(len(arrays), -1)
    return _Columns(numbers, values, len(arrays[0]), valid)


def _pages_of(columns: _Columns, context: EncodeContext) -> dict[int, EncodedPage]:
    """The pages of columns of one type, all with nulls or all without."""
    valid = columns.valid
    if valid is None:
        return _Group(columns, context).pages()
    is_null = ~valid.any(axis=1)
    has_runs = np.zeros(len(valid), np.bool_)
    if context.version >= FileVersion.V2_2:
        has_runs = levels_have_runs(_definition(valid), context.kernels)
    pages: dict[int, EncodedPage] = {}
    empty = np.flatnonzero(is_null).tolist()
    if empty:
        levels = ravel((ItemLayer(columns.rows, valid[empty[0]]),))
        page = _page(null_page(levels, None), columns.rows)
        pages = {columns.numbers[position]: page for position in empty}
    for part in (~is_null & ~has_runs, ~is_null & has_runs):
        if part.any():
            pages |= _Group(columns.select(np.flatnonzero(part)), context).pages()
    return pages


class _Group:
    """Columns of one type with the same number of rows, whose levels have the same encoding."""

    def __init__(self, columns: _Columns, context: EncodeContext) -> None:
        """Has at least one value of each column that is not null."""
        self._columns = columns
        self._valid = columns.valid
        self._context = context
        self._count = columns.rows
        self._type = columns.values.type
        self._is_new = context.version >= FileVersion.V2_2

    def pages(self) -> dict[int, EncodedPage]:
        """The pages by column number; columns whose chunks are too large are left out."""
        if is_variable(self._type):
            return self._text_pages()
        if self._type.bit_width in WIDTHS:
            return self._number_pages()
        return self._raw_pages()

    def _number_pages(self) -> dict[int, EncodedPage]:
        size = self._type.bit_width // 8
        words = self._octets(size * _padded(self._count)).view(f"<u{size}")
        pages, positions = self._constant_pages(_are_same(words[:, : self._count], self._valid))
        if self._is_new and size == 8:
            with_dictionary, positions = self._dictionary_pages(words.view(np.uint8), positions)
            pages |= with_dictionary
        return self._fixed_pages(positions, _rows(words, positions)) | pages

    def _raw_pages(self) -> dict[int, EncodedPage]:
        """The pages of booleans, and of values that are wider than numbers."""
        bits = self._type.bit_width
        octets = self._octets((bits * self._count + 7) // 8)
        if bits == 1:
            same = _bits_are_same(octets, self._valid, self._count)
        else:
            same = _are_same(octets.view(f"V{bits // 8}"), self._valid)
        pages, positions = self._constant_pages(same)
        if bits == _DICTIONARY_BITS:
            with_dictionary, positions = self._dictionary_pages(octets, positions)
            pages |= with_dictionary
        if not len(positions):
            return pages
        values = flat_values(_rows(octets, positions), bits, self._count, self._context)
        return pages | self._stored(positions, values)

    def _octets(self, size: int) -> npt.NDArray[np.uint8]:
        """A row with the bytes of the values for each column, padded with zeros to ``size``."""
        rows = np.zeros((len(self._columns.numbers), size), np.uint8)
        if self._type.bit_width % 8 == 0:
            octets = as_fixed(values_of(self._columns.values)).octets().reshape(len(rows), -1)
            rows[:, : octets.shape[1]] = octets
            return rows
        for position, row in enumerate(rows):
            octets = as_fixed(values_of(self._columns.column(position))).octets()
            row[: len(octets)] = octets
        return rows

    def _dictionary_pages(
        self, octets: npt.NDArray[np.uint8], positions: Positions
    ) -> tuple[dict[int, EncodedPage], Positions]:
        """The pages of those columns that get dictionaries, and the ``positions`` of the others.

        ``octets`` has a row with the bytes of the values for each column of the group.
        """
        size = self._type.bit_width // 8
        firsts = np.arange(0, octets.size, octets.shape[1])
        edges = firsts[:, None] + np.arange(0, size * (self._count + 1), size)
        values = ColumnValues(octets.reshape(-1), edges)
        return self._coded_pages(values, positions)

    def _text_pages(self) -> dict[int, EncodedPage]:
        texts = as_variable(values_of(self._columns.values))
        # The last edge of a column is the first one of the next.
        edges = np.arange(len(self._columns.numbers))[:, None] * self._count
        offsets = texts.offsets.astype(np.int64)[edges + np.arange(self._count + 1)]
        values = ColumnValues(texts.octets(), offsets, texts.offset_bits // 8)
        same = np.zeros(len(offsets), np.bool_)
        for position in np.flatnonzero(self._may_be_same(values)).tolist() if self._is_new else ():
            if self._valid is None:
                same[position] = texts_are_same(values.texts(position))
            else:
                column = self._columns.column(position)
                own = flat_values_of(column)
                same[position] = constant_of(column, self._valid[position], own) is not None
        pages, positions = self._constant_pages(same)
        positions = positions[np.diff(offsets, axis=1).max(axis=1)[positions] < NARROW]
        with_dictionary, positions = self._coded_pages(values, positions)
        pages |= with_dictionary
        positions = positions[texts_are_short(values, self._type)[positions]]
        if not len(positions):
            return pages
        chosen = text_values(values.select(positions), self._type, self._context)
        return pages | self._stored(positions, chosen)

    def _may_be_same(self, values: ColumnValues) -> npt.NDArray[np.bool_]:
        """For each column, False if its first and its last text that is not null differ."""
        rows = np.arange(len(self._columns.numbers))
        first, last = np.zeros_like(rows), np.full_like(rows, self._count - 1)
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

    def _constant_pages(
        self, same: npt.NDArray[np.bool_]
    ) -> tuple[dict[int, EncodedPage], Positions]:
        """The pages of columns whose values are the ``same``, and the positions of the others."""
        if not self._is_new:
            return {}, np.arange(len(same))
        pages = {}
        for position in np.flatnonzero(same).tolist():
            valid = None if self._valid is None else self._valid[position]
            first = position * self._count + (0 if valid is None else int(valid.argmax()))
            levels = ravel((ItemLayer(self._count, valid),))
            page = constant_page(levels, self._columns.values.slice(first, 1))
            pages[self._columns.numbers[position]] = _page(page, self._count)
        return pages, np.flatnonzero(~same)

    def _coded_pages(
        self, values: ColumnValues, positions: Positions
    ) -> tuple[dict[int, EncodedPage], Positions]:
        """The pages of those columns that get dictionaries, and the ``positions`` of the others."""
        coded = column_dictionaries(values, positions, self._context.kernels)
        if coded is None:
            return {}, positions
        words = np.zeros((len(coded.positions), _padded(self._count)), np.uint32)
        words[:, : self._count] = coded.codes
        dictionaries = stored_dictionaries(coded.items, self._context)
        stored = dict(zip(coded.positions.tolist(), dictionaries, strict=True))
        rest = np.setdiff1d(positions, coded.positions, assume_unique=True)
        return self._fixed_pages(coded.positions, words, stored), rest

    def _fixed_pages(
        self,
        positions: Positions,
        words: Rows,
        dictionaries: Mapping[int, StoredDictionary] = MappingProxyType({}),
    ) -> dict[int, EncodedPage]:
        """The pages of the columns at ``positions``; ``words`` has their numbers or codes as rows.

        These are padded with zeros to whole chunks of 1024 values.
        """
        if not len(positions):
            return {}
        codecs = number_codecs(words, self._count, self._context.kernels)
        pages: dict[int, EncodedPage] = {}
        for number, codec in enumerate(CODECS):
            chosen = np.flatnonzero(codecs == number)
            if len(chosen):
                rows = _rows(words, chosen)
                values = number_values(rows, self._count, codec, self._context)
                if values is not None:
                    pages |= self._stored(positions[chosen], values, dictionaries)
        return pages

    def _stored(
        self,
        positions: Positions,
        values: GroupValues,
        dictionaries: Mapping[int, StoredDictionary] = MappingProxyType({}),
    ) -> dict[int, EncodedPage]:
        """The pages of the columns at ``positions``, by column number."""
        definition = None if self._valid is None else _definition(_rows(self._valid, positions))
        stored = [dictionaries.get(position) for position in positions.tolist()]
        pages = group_pages(values, definition, stored, self._count, self._context)
        if pages is None:
            return {}
        numbers = [self._columns.numbers[position] for position in positions.tolist()]
        return dict(zip(numbers, pages, strict=True))


def _page(page: LayoutPage, count: int) -> EncodedPage:
    return EncodedPage(0, page.buffers, page.layout.SerializeToString(), count, 0)


def _definition(valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint16]:
    """The definition levels of values, of which some are null."""
    return (~valid).astype(np.uint16)


def _padded(count: int) -> int:
    """The number of values of whole chunks."""
    return -(-count // CHUNK) * CHUNK


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


def _bits_are_same(
    octets: npt.NDArray[np.uint8], valid: npt.NDArray[np.bool_] | None, count: int
) -> npt.NDArray[np.bool_]:
    """For each row of ``count`` bits, if all that are not null are equal."""
    is_valid = np.ones((1, count), np.bool_) if valid is None else valid
    mask = np.packbits(is_valid, axis=1, bitorder="little")
    set_bits = octets & mask
    return np.asarray(~set_bits.any(axis=1) | (set_bits == mask).all(axis=1))
