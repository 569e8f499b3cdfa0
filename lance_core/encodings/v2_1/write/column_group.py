"""Encode small columns together, with the same bytes as one by one.

A file with thousands of columns and few rows has one small page for each column, and selecting and
applying an encoding costs more than the values. Here numpy does it for many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.pages.constant.writer import constant_of
from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary
from lance_core.encodings.v2_1.selection.blocks import encode_block
from lance_core.encodings.v2_1.selection.dictionary import (
    ValuesWithDictionary,
    as_dictionary,
    never_has_dictionary,
)
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.encodings.v2_1.selection.values import longest
from lance_core.encodings.v2_1.write.field_encoder import TopLevelEncoder
from lance_core.encodings.v2_1.write.group_pages import (
    GroupValues,
    fixed_values,
    group_pages,
    may_have_runs,
    text_values,
)
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.v2_1.levels.repdef import BoolArray
    from lance_core.encodings.v2_1.levels.shred import Leaf

WINDOW = 128
"""Fields whose pages are in memory at once."""

MAX_BYTES = 128 << 10
"""Maximum bytes of a column that is encoded with others; a larger one is worth its fixed cost."""

Words = npt.NDArray[np.unsignedinteger]
"""A row of values for each column, padded with zeros to whole chunks of 1024 values."""


class _Waiting(NamedTuple):
    """A column that waits for `flush`: its number, its rows, and the first of them."""

    number: int
    leaf: Leaf
    row: int

    @property
    def valid(self) -> BoolArray | None:
        """The slots that are not null; None if none is null."""
        valid = self.leaf.layers[0].valid
        return None if valid is None or valid.all() else valid


def flush_together(
    encoders: Sequence[FieldEncoder], context: EncodeContext
) -> Iterator[tuple[int, EncodedPage]]:
    """Flush all ``encoders``: the number of the encoder and each of its pages, in order."""
    for first in range(0, len(encoders), WINDOW):
        part = encoders[first : first + WINDOW]
        pages = _pages_together(part, context)
        for number, encoder in enumerate(part):
            page = pages.pop(number, None)
            if page is None:
                yield from ((first + number, page) for page in encoder.flush())
            else:
                yield first + number, page


def _pages_together(
    encoders: Sequence[FieldEncoder], context: EncodeContext
) -> dict[int, EncodedPage]:
    """The single page of each encoder that has alike others; their waiting rows are removed."""
    alike: dict[tuple[pa.DataType, int, bool], list[_Waiting]] = {}
    for number, encoder in enumerate(encoders):
        found = encoder.plain_leaf(MAX_BYTES) if isinstance(encoder, TopLevelEncoder) else None
        if found is None:
            continue
        waiting = _Waiting(number, *found)
        type_ = waiting.leaf.values.type
        if is_variable(type_) or type_.bit_width in WIDTHS:
            key = type_, len(waiting.leaf.values), waiting.valid is not None
            alike.setdefault(key, []).append(waiting)
    pages: dict[int, EncodedPage] = {}
    for columns in alike.values():
        if len(columns) > 1:
            pages |= _Group(columns, context).pages()
    for number in pages:
        encoder = encoders[number]
        assert isinstance(encoder, TopLevelEncoder)
        encoder.discard_waiting()
    return pages


class _Group:
    """Columns of one type with the same number of rows, all with nulls or all without."""

    def __init__(self, columns: Sequence[_Waiting], context: EncodeContext) -> None:
        self._columns = columns
        self._context = context
        self._count = len(columns[0].leaf.values)
        self._type = columns[0].leaf.values.type
        self._is_new = context.version >= FileVersion.V2_2
        self._valid: npt.NDArray[np.bool_] | None = None
        masks = [column.valid for column in columns]
        if masks[0] is not None:
            self._valid = np.array(masks, np.bool_)

    def pages(self) -> dict[int, EncodedPage]:
        """The pages by column number; columns for which other encodings may pay are left out."""
        usable = self._have_plain_levels()
        if is_variable(self._type):
            return self._text_pages(usable)
        words = self._words()
        values = words[:, : self._count]
        if self._is_new:
            usable[self._are_constant(values)] = False
        coded: dict[int, ValuesWithDictionary] = {}
        if self._is_new and words.itemsize == 8:
            may_have = usable & ~never_has_dictionary(values)
            # Indices have the runs of the values. Columns with long runs are encoded one by one.
            has_runs = _num_runs(values) <= self._count // 3
            usable[may_have & has_runs] = False
            coded = self._dictionaries(may_have & usable)
            usable[list(coded)] = False
        return self._fixed_pages(np.flatnonzero(usable), words) | self._coded_pages(coded)

    def _have_plain_levels(self) -> npt.NDArray[np.bool_]:
        """For each column, if it has values, and levels that `group_pages` supports."""
        if self._valid is None:
            return np.ones(len(self._columns), np.bool_)
        has_runs = may_have_runs(_definition(self._valid), self._context)
        return np.asarray(self._valid.any(axis=1) & ~has_runs)

    def _are_constant(self, values: Words) -> npt.NDArray[np.bool_]:
        """For each column, if all values that are not null are equal."""
        if self._valid is None:
            return np.asarray((values == values[:, :1]).all(axis=1))
        firsts = values[np.arange(len(values)), self._valid.argmax(axis=1)]
        return np.asarray(((values == firsts[:, None]) | ~self._valid).all(axis=1))

    def _words(self) -> Words:
        count, size = self._count, self._type.bit_width // 8
        words = np.zeros((len(self._columns), -(-count // CHUNK) * CHUNK), f"<u{size}")
        for row, column in zip(words, self._columns, strict=True):
            array = column.leaf.values
            row[:count] = np.frombuffer(array.buffers()[1], row.dtype, count, array.offset * size)
        return words

    def _dictionaries(self, chosen: npt.NDArray[np.bool_]) -> dict[int, ValuesWithDictionary]:
        """By place, the values of those ``chosen`` columns that get a dictionary."""
        places = np.flatnonzero(chosen).tolist()
        arrays = [self._columns[place].leaf.values for place in places]
        found = [as_dictionary(array, NO_OPTIONS, self._context) for array in arrays]
        return {place: one for place, one in zip(places, found, strict=True) if one is not None}

    def _text_pages(self, usable: npt.NDArray[np.bool_]) -> dict[int, EncodedPage]:
        texts: dict[int, VariableWidth] = {}
        for place in np.flatnonzero(usable).tolist():
            column = self._columns[place]
            values = values_of(column.leaf.values)
            assert isinstance(values, VariableWidth)
            is_short = longest(values) < NARROW
            if is_short and self._is_new:
                is_short = constant_of(column.leaf.values, column.valid) is None
            if is_short:
                texts[place] = values
            else:
                usable[place] = False
        coded = self._dictionaries(usable)
        pages = self._coded_pages(coded)
        places = [place for place in texts if place not in coded]
        if places:
            chosen = text_values([texts[p] for p in places], self._type, self._context)
            pages |= self._stored(places, chosen)
        return pages

    def _coded_pages(self, coded: dict[int, ValuesWithDictionary]) -> dict[int, EncodedPage]:
        """The pages of columns with a dictionary, by place."""
        if not coded:
            return {}
        words = np.zeros((len(coded), -(-self._count // CHUNK) * CHUNK), np.uint32)
        stored = {}
        for row, (place, values) in zip(words, coded.items(), strict=True):
            row[: self._count] = values.indices.words()
            items, data = encode_block(values.items, NO_OPTIONS, self._context)
            stored[place] = StoredDictionary(items, data, values.count)
        return self._fixed_pages(np.array(list(coded)), words, stored)

    def _fixed_pages(
        self,
        places: npt.NDArray[np.intp],
        words: Words,
        dictionaries: Mapping[int, StoredDictionary] | None = None,
    ) -> dict[int, EncodedPage]:
        """The pages of columns that have neither runs nor other encodings than packed and flat.

        With ``dictionaries``, ``words`` has only the rows of ``places``.
        """
        rows = words if dictionaries else words[places]
        if not len(rows):
            return {}
        is_plain, packs = _choices(rows, self._count, self._context)
        pages: dict[int, EncodedPage] = {}
        for key in ("inline_bitpacking", "flat"):
            chosen = np.flatnonzero(is_plain & (packs == (key == "inline_bitpacking")))
            if len(chosen):
                values = fixed_values(rows[chosen], self._count, key, self._context)
                pages |= self._stored(places[chosen].tolist(), values, dictionaries or {})
        return pages

    def _stored(
        self,
        places: Sequence[int],
        values: GroupValues,
        dictionaries: Mapping[int, StoredDictionary] = MappingProxyType({}),
    ) -> dict[int, EncodedPage]:
        """The pages of the columns at ``places``, by column number."""
        definition = None if self._valid is None else _definition(self._valid[list(places)])
        stored = [dictionaries.get(place) for place in places]
        pages = group_pages(values, definition, stored, self._count, self._context)
        found = {}
        for place, page in zip(places, pages or (), strict=pages is not None):
            number, _, row = self._columns[place]
            found[number] = EncodedPage(0, page.buffers, page.message, self._count, row)
        return found


def _definition(valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint16]:
    """The definition levels of values, of which some are null."""
    return (~valid).astype(np.uint16)


def _choices(
    words: Words, count: int, context: EncodeContext
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each column, if its values are packed or flat, and if they are packed.

    Decides as `lance_core.encodings.v2_1.selection` does without options of the field. A column
    that may have runs is neither.
    """
    values = words[:, :count]
    size = count * words.itemsize
    widths = context.kernels.chunk_widths(words.reshape(-1)).reshape(len(words), -1)
    packed = widths.sum(axis=1) * packed_bytes(1) + widths.shape[1] * words.itemsize
    packed = np.minimum(packed, size)
    is_plain = _num_runs(values) > np.minimum(packed, size - 1) // (words.itemsize + 1)
    return is_plain, packed < size


def _num_runs(values: Words) -> npt.NDArray[np.int64]:
    """The number of runs of equal values in each row."""
    return np.asarray(1 + np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1))
