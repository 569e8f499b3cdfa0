"""Decode the fields of 0.1 files, whose pages the page table locates, to Arrow arrays.

A struct has no pages and is never null; only its members have pages. A list has a page of offsets
in each batch, which start from 0 there; a null list is stored as an empty list. A dictionary column
has pages of keys; its values are not in pages, but in each file and in each manifest of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import (
    Lists,
    concat_arrays,
    empty_array,
    is_variable,
    list_arrays,
    struct_arrays,
)
from lance_core.hookspecs.file_versions import run_interleaved
from lance_core_legacy.page_table import Pages
from lance_core_legacy.selection import merged, whole_batch
from lance_core_legacy.values import decode_fixed, decode_variable, read_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lance_core.hookspecs.file_versions import (
        DecodeContext,
        Decoding,
        DictionaryValues,
        Field,
        Rows,
    )
    from lance_core_legacy.page_table import PageTable
    from lance_core_legacy.selection import BatchSelection

_MAX_ITEMS = (1 << 31) - 1  # per batch: list offsets have 32 bits


@dataclass(frozen=True, slots=True, eq=False)
class LegacyColumns:
    """The columns of a 0.1 file.

    ``find_dictionary`` returns the place in the file of a dictionary's values, by field id.
    """

    table: PageTable
    find_dictionary: Callable[[int], DictionaryValues | None]


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: LegacyColumns,
    rows: Rows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """The 0.1 implementation of `lance_core.encodings.dispatch.decode_field`."""
    if not len(rows):
        return []
    decoder = _Decoder(column_of, columns, context)
    return (yield from decoder.decode(field, columns.table.select(rows), field.name))


@dataclass(frozen=True, slots=True, eq=False)
class _Decoder:
    column_of: Mapping[int, int]
    columns: LegacyColumns
    context: DecodeContext

    def decode(
        self, field: Field, selection: BatchSelection, path: str
    ) -> Decoding[list[pa.Array]]:
        """The selected rows, at least one, of the field at ``path``."""
        type_ = field.storage_type
        if field.is_struct:
            members = [self.decode(c, selection, f"{path}.{c.name}") for c in field.children]
            columns = yield from run_interleaved(members)
            return struct_arrays(type_, columns, selection.num_rows)
        if pa.types.is_null(type_):
            return [pa.nulls(selection.num_rows)]
        try:
            pages = yield from self._pages(field)
            if field.is_list:
                (item,) = field.children
                return (yield from self._lists(field, pages, selection, f"{path}.{item.name}"))
            if field.children:
                raise UnsupportedFeatureError(
                    f"files of version 0.1 cannot store values of type {type_}"
                )
            if pa.types.is_dictionary(type_):
                return (yield from self._dictionary(field, pages, selection))
            return (yield from _values(type_, field.nullable, pages, selection, self.context))
        except CorruptFileError as error:
            raise error.at(field=path) from error
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"field {path!r}: {error}") from error

    def _pages(self, field: Field) -> Decoding[Pages]:
        column = self.column_of.get(field.id)
        if column is None:
            raise CorruptFileError("the file does not have this field")
        return (yield from self.columns.table.pages(column, self.context))

    def _lists(
        self, field: Field, pages: Pages, selection: BatchSelection, item_path: str
    ) -> Decoding[list[pa.Array]]:
        type_ = field.storage_type
        dtype = "<i4" if pa.types.is_list(type_) else "<i8"
        offsets = yield from read_offsets(dtype, _MAX_ITEMS, pages, selection, self.context)
        item_selection = merged(selection.batches, offsets.firsts, offsets.lasts)
        items: list[pa.Array] = []
        if len(item_selection.batches):
            items = yield from self.decode(field.children[0], item_selection, item_path)
        edges = list(accumulate((len(array) for array in items), initial=0))
        lists = Lists(0, np.cumsum(offsets.lengths), None)
        return list_arrays(type_, lists, items, edges)

    def _dictionary(
        self, field: Field, pages: Pages, selection: BatchSelection
    ) -> Decoding[list[pa.Array]]:
        type_ = field.storage_type
        values = field.dictionary_values
        if values is None:
            values = yield from self._stored_values(field)
        keys = yield from decode_fixed(type_.index_type, pages, selection, self.context)
        try:
            return [pa.DictionaryArray.from_arrays(array, values) for array in keys]
        except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
            raise CorruptFileError(
                f"a key is not the number of one of {len(values)} values"
            ) from error

    def _stored_values(self, field: Field) -> Decoding[pa.Array]:
        dictionary = self.columns.find_dictionary(field.id)
        if dictionary is None:
            raise CorruptFileError("the position of the dictionary's values is missing")
        return (
            yield from decode_dictionary(field.storage_type.value_type, dictionary, self.context)
        )


def _values(
    type_: pa.DataType,
    nullable: bool,
    pages: Pages,
    selection: BatchSelection,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    if is_variable(type_):
        return (yield from decode_variable(type_, nullable, pages, selection, context))
    return (yield from decode_fixed(type_, pages, selection, context))


def decode_dictionary(
    type_: pa.DataType, location: DictionaryValues, context: DecodeContext
) -> Decoding[pa.Array]:
    """The values of a dictionary that the file stores at ``location``."""
    if location.length == 0:
        return empty_array(type_)
    if location.offset < 0 or location.length < 0 or location.length > context.file_size:
        raise CorruptFileError(
            f"the {location.length} dictionary values at byte {location.offset} are not within the "
            "file"
        )
    pages = Pages(np.full(1, location.offset), np.full(1, location.length))
    everything = whole_batch(location.length)
    arrays = yield from _values(type_, True, pages, everything, context)
    return concat_arrays(arrays)
