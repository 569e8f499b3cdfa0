"""Encode small columns together, with the same bytes as one by one.

A file with thousands of columns and few rows has one small page for each column, and selecting and
applying an encoding costs more than the values. Here numpy does it for many columns at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.values import as_variable
from lance_core.encodings.v2_1.pages.constant.writer import constant_of
from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary
from lance_core.encodings.v2_1.selection.blocks import encode_block
from lance_core.encodings.v2_1.selection.column_dictionaries import (
    ColumnDictionaries,
    ColumnValues,
    column_dictionaries,
)
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS, FieldOptions
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.encodings.v2_1.write.group_pages import (
    GroupValues,
    fixed_values,
    group_pages,
    may_have_runs,
    text_values,
)
from lance_core.encodings.version import FileVersion
from lance_core.schema.blob import has_blobs

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.levels.repdef import BoolArray
    from lance_core.schema import Field, Schema

WINDOW_BYTES = 8 << 20
"""Bytes of the columns whose pages are in memory at once; fewer take longer, as numpy is called for
each group of columns of a window."""

Words = npt.NDArray[np.unsignedinteger]
"""A row of values for each column, padded with zeros to whole chunks of 1024 values."""


MAX_BYTES = 128 << 10
"""Maximum bytes of a column that waits here; a larger one is worth the fixed cost of an encoder."""


def _plain_type(field: Field) -> pa.DataType | None:
    """The storage type of ``field``; None if it has children or options."""
    if field.children or (field.metadata and _has_options(field)):
        return None
    return field.storage_type


def _has_options(field: Field) -> bool:
    return has_blobs(field) or FieldOptions.of_leaf(field, field) != NO_OPTIONS


def _width(type_: pa.DataType | None) -> int:
    """The bits of a number, 0 for texts, and -1 for values that do not wait here."""
    if type_ is None:
        return -1
    if is_variable(type_):
        return 0
    is_number = pa.types.is_primitive(type_) and type_.bit_width in WIDTHS
    return int(type_.bit_width) if is_number else -1


class SmallColumns:
    """Rows of columns that are too small for a page before the end of the file.

    Whole batches are copied, so that the larger memory of which they are a part can be freed,
    unless `EncodeContext.arrays_stay`. A column that becomes too large leaves with all its rows.
    """

    def __init__(self, schema: Schema, context: EncodeContext) -> None:
        """Has the fields that are numbers or texts without options; `numbers` are their positions.

        `num_shared` is the number of these fields, less the number of their types.
        """
        types: Sequence[pa.DataType | None]
        if schema.is_plain:
            types = schema.storage_schema().types
        else:
            types = list(map(_plain_type, schema.fields))
        kinds: dict[pa.DataType | None, int] = {}
        codes = np.array([kinds.setdefault(type_, len(kinds)) for type_ in types], np.int64)
        widths = np.array(list(map(_width, kinds)), np.int64)[codes]
        self.numbers = np.flatnonzero(widths >= 0)
        self.num_shared = len(self.numbers) - len(np.unique(codes[self.numbers]))
        self._num_fields = len(types)
        # Encoders compare other sizes with these limits, too; here no limit must come into effect.
        self._arrays_stay = context.arrays_stay
        self._limit = min(MAX_BYTES, context.flush_bytes // 2, context.max_page_bytes)
        self._widths = widths[self.numbers]
        self._sizes = np.zeros(len(self.numbers), np.int64)
        self._batches: list[pa.RecordBatch] = []
        self._num_rows = 0

    def add(self, batch: pa.RecordBatch) -> dict[int, Sequence[pa.Array]]:
        """Append a batch of all fields; returns the arrays, by field, that do not wait here."""
        rows = batch.num_rows
        sizes = rows * self._widths // 8 + rows // 8 + 1
        for place in np.flatnonzero(self._widths == 0).tolist():
            sizes[place] = batch.column(int(self.numbers[place])).nbytes
        self._sizes += sizes
        stay = self._sizes <= self._limit
        self._num_rows += rows
        if self._num_rows > self._limit:
            stay[:] = False
        leave: dict[int, Sequence[pa.Array]] = {}
        if not stay.all():
            for place in np.flatnonzero(~stay).tolist():
                leave[int(self.numbers[place])] = [one.column(place) for one in self._batches]
            self._keep(stay)
        others = np.setdiff1d(np.arange(self._num_fields), self.numbers).tolist()
        if len(self.numbers):
            kept = batch.select(self.numbers.tolist()) if others else batch
            if not self._arrays_stay:
                kept = pa.concat_batches([kept, kept.slice(0, 0)])
            self._batches.append(kept)
        return {number: [*leave.get(number, ()), batch.column(number)] for number in others}

    def _keep(self, stay: np.ndarray) -> None:
        self.numbers, self._widths = self.numbers[stay], self._widths[stay]
        self._sizes = self._sizes[stay]
        places = np.flatnonzero(stay).tolist()
        self._batches = [one.select(places) for one in self._batches] if places else []

    def sizes(self) -> Int64Array:
        """The bytes that wait, of each field; about 0 for a field that does not wait here."""
        found = np.zeros(self._num_fields, np.int64)
        found[self.numbers] = self._sizes
        return found

    def parts(self) -> dict[int, Sequence[pa.Array]]:
        """Remove all rows, and return the arrays of each column, by field."""
        batches, self._batches = self._batches, []
        columns = [batch.columns for batch in batches]
        return {n: [own[p] for own in columns] for p, n in enumerate(self.numbers.tolist())}

    def joined(self) -> pa.RecordBatch:
        """Remove and return all rows, in the order of `numbers`; no columns without rows."""
        batches, self._batches = self._batches, []
        if not batches:
            return pa.record_batch([], names=[])
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


class _Waiting(NamedTuple):
    """The rows of a column: its number, its values, and those that are not null if some are."""

    number: int
    values: pa.Array
    valid: BoolArray | None


def flush_together(
    columns: SmallColumns, encoder_of: Callable[[int], FieldEncoder], context: EncodeContext
) -> Iterator[list[tuple[int, EncodedPage]]]:
    """Flush all fields: lists of the number of a field and one of its pages, in order.

    ``encoder_of`` returns the encoder of a field that does not wait in ``columns``. Pages that are
    in memory at once are in one list.
    """
    sizes = columns.sizes().cumsum()
    batch = columns.joined()
    places = dict(zip(columns.numbers.tolist(), range(batch.num_columns), strict=False))
    first = 0
    while first < len(sizes):
        start = sizes[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(sizes, start + WINDOW_BYTES, side="right")))
        numbers = [number for number in range(first, stop) if number in places]
        # Only now: objects for all columns of the file at once would be collected as garbage.
        arrays = {number: batch.column(places[number]) for number in numbers}
        pages = _pages_together(arrays, context)
        done: list[tuple[int, EncodedPage]] = []
        for number in range(first, stop):
            page = pages.pop(number, None)
            if page is not None:
                done.append((number, page))
                continue
            yield done
            done = []
            encoder = encoder_of(number)
            if number in arrays:
                yield [(number, page) for page in encoder.write(arrays[number])]
            yield from ([(number, page)] for page in encoder.flush())
        yield done
        first = stop


def _pages_together(
    columns: Mapping[int, pa.Array], context: EncodeContext
) -> dict[int, EncodedPage]:
    """The single page of each column that has alike others."""
    alike: dict[tuple[pa.DataType, bool], list[_Waiting]] = {}
    for number, values in columns.items():
        valid = np.asarray(values.is_valid()) if values.null_count else None
        alike.setdefault((values.type, valid is None), []).append(_Waiting(number, values, valid))
    pages: dict[int, EncodedPage] = {}
    for group in alike.values():
        if len(group) > 1:
            pages |= _Group(group, context).pages()
    return pages


class _Group:
    """Columns of one type with the same number of rows, all with nulls or all without."""

    def __init__(self, columns: Sequence[_Waiting], context: EncodeContext) -> None:
        self._columns = columns
        self._context = context
        self._count = len(columns[0].values)
        self._type = columns[0].values.type
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
        pages: dict[int, EncodedPage] = {}
        if self._is_new and words.itemsize == 8:
            firsts = np.arange(0, words.nbytes, words.strides[0])
            edges = firsts[:, None] + np.arange(0, 8 * self._count + 8, 8)
            stored = ColumnValues(words.reshape(-1).view(np.uint8), edges)
            coded = column_dictionaries(stored, np.flatnonzero(usable), self._context.kernels)
            usable[coded.places] = False
            pages = self._coded_pages(coded)
        return self._fixed_pages(np.flatnonzero(usable), words) | pages

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
            array = column.values
            row[:count] = np.frombuffer(array.buffers()[1], row.dtype, count, array.offset * size)
        return words

    def _text_pages(self, usable: npt.NDArray[np.bool_]) -> dict[int, EncodedPage]:
        texts = [as_variable(values_of(column.values)) for column in self._columns]
        offsets = np.array([one.offsets for one in texts], np.int64)
        lengths = np.diff(offsets, axis=1)
        usable &= lengths.max(axis=1) < NARROW
        offsets += (offsets[:, -1].cumsum() - offsets[:, -1])[:, None]
        data = np.concatenate([one.octets() for one in texts])
        values = ColumnValues(data, offsets, texts[0].offset_bits // 8)
        if self._is_new:
            for place in np.flatnonzero(usable & self._may_be_constant(values)).tolist():
                column = self._columns[place]
                usable[place] = constant_of(column.values, column.valid) is None
        coded = column_dictionaries(values, np.flatnonzero(usable), self._context.kernels)
        usable[coded.places] = False
        pages = self._coded_pages(coded)
        places = np.flatnonzero(usable).tolist()
        if places:
            chosen = text_values([texts[p] for p in places], self._type, self._context)
            pages |= self._stored(places, chosen)
        return pages

    def _may_be_constant(self, values: ColumnValues) -> npt.NDArray[np.bool_]:
        """For each column, False if its first and its last text that is not null differ."""
        rows = np.arange(len(self._columns))
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

    def _coded_pages(self, coded: ColumnDictionaries) -> dict[int, EncodedPage]:
        """The pages of columns with a dictionary, by number."""
        # Columns with long runs of indices are encoded one by one.
        chosen = np.flatnonzero(_num_runs(coded.codes) > self._count // 3)
        words = np.zeros((len(chosen), -(-self._count // CHUNK) * CHUNK), np.uint32)
        words[:, : self._count] = coded.codes[chosen]
        stored = {}
        for index in chosen.tolist():
            values = coded.items[index]
            items, data = encode_block(values, NO_OPTIONS, self._context)
            stored[int(coded.places[index])] = StoredDictionary(items, data, values.count)
        return self._fixed_pages(coded.places[chosen], words, stored)

    def _fixed_pages(
        self,
        places: npt.NDArray[np.intp],
        words: Words,
        dictionaries: Mapping[int, StoredDictionary] | None = None,
    ) -> dict[int, EncodedPage]:
        """The pages of columns that have neither runs nor other encodings than packed and flat.

        With ``dictionaries``, ``words`` has only the rows of ``places``.
        """
        rows = _rows(words, places) if dictionaries is None else words
        if not len(rows):
            return {}
        is_plain, packs = _choices(rows, self._count, self._context)
        pages: dict[int, EncodedPage] = {}
        for key in ("inline_bitpacking", "flat"):
            chosen = np.flatnonzero(is_plain & (packs == (key == "inline_bitpacking")))
            if len(chosen):
                values = fixed_values(_rows(rows, chosen), self._count, key, self._context)
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
        if pages is None:
            return {}
        return dict(zip([self._columns[place].number for place in places], pages, strict=True))


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


def _rows(words: Words, places: npt.NDArray[np.intp]) -> Words:
    """The rows at ``places``, which ascend; all rows are not copied."""
    return words if len(places) == len(words) else words[places]


def _num_runs(values: Words) -> npt.NDArray[np.int64]:
    """The number of runs of equal values in each row."""
    return np.asarray(1 + np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1))
