"""Encode small columns together, with the same bytes as one by one.

A file with thousands of columns and few rows has one small page for each column, and selecting and
applying an encoding costs more than the values. Here numpy does it for many columns at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_plain, is_variable
from lance_core.encodings.v2_1.fast.group_encoder import pages_together
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS, FieldOptions
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.errors import PluginError
from lance_core.schema.blobs.fields import has_blobs

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.page import EncodedPage
    from lance_core.schema import Field, Schema

WINDOW_BYTES = 8 << 20
"""Bytes of the columns whose pages are in memory at once; fewer take longer, as numpy is called for
each group of columns of a window."""

MAX_BYTES = 256 << 10
"""Maximum bytes of a column that waits here; a larger one is worth the fixed cost of an encoder."""

_MAX_NAMES = 3
"""Maximum names of fields in an error about many."""


def _plain_type(field: Field) -> pa.DataType | None:
    """The storage type of ``field``; None if it has children or options."""
    if field.children or (field.metadata and _has_options(field)):
        return None
    return field.storage_type


def _has_options(field: Field) -> bool:
    return has_blobs(field) or FieldOptions.of_leaf(field, field) != NO_OPTIONS


def _width(type_: pa.DataType | None) -> int:
    """The bits of a value while it waits, 0 for texts, and -1 for values that do not wait here."""
    if type_ is None:
        return -1
    if is_variable(type_):
        return 0
    if pa.types.is_null(type_):
        return 8
    width = max(8, int(type_.bit_width)) if is_plain(type_) else -1
    return width if width < 8 * NARROW else -1


def _small(schema: Schema) -> tuple[Int64Array, Int64Array, int]:
    """The positions and widths (see `_width`) of small columns; their number less that of types."""
    types: Sequence[pa.DataType | None]
    if schema.is_plain:
        types = schema.storage_schema().types
    else:
        types = list(map(_plain_type, schema.fields))
    type_codes: dict[pa.DataType | None, int] = {}
    codes = np.array([type_codes.setdefault(type_, len(type_codes)) for type_ in types], np.int64)
    widths = np.array(list(map(_width, type_codes)), np.int64)[codes]
    numbers = np.flatnonzero(widths >= 0)
    return numbers, widths[numbers], len(numbers) - len(np.unique(codes[numbers]))


class SmallColumns:
    """Rows of columns that are too small for a page before the end of the file.

    Whole batches are copied, so that the larger memory of which they are a part can be freed,
    unless `EncodeContext.arrays_stay`. A column that becomes too large leaves with all its rows.
    """

    def __init__(self, schema: Schema, context: EncodeContext) -> None:
        """Has the fields of numbers, texts or nulls without options; `numbers`: their positions.

        `num_shared` is the number of these fields, less the number of their types.
        """
        self._schema = schema
        small = schema.derived("small_columns", lambda: _small(schema))
        self.numbers, self._widths, self.num_shared = small
        self._num_fields = schema.num_fields
        # Encoders compare other sizes with these limits, too; here no limit must come into effect.
        self._arrays_stay = context.arrays_stay
        self._limit = min(MAX_BYTES, context.flush_bytes // 2, context.max_page_bytes)
        self._sizes = np.zeros(len(self.numbers), np.int64)
        self._batches: list[pa.RecordBatch] = []
        self._num_rows = 0

    def add(self, batch: pa.RecordBatch) -> dict[int, Sequence[pa.Array]]:
        """Append a batch of all fields; returns the arrays, by field, that do not wait here."""
        rows = batch.num_rows
        sizes = rows * self._widths // 8 + rows // 8 + 1
        for position in np.flatnonzero(self._widths == 0).tolist():
            sizes[position] = batch.column(int(self.numbers[position])).nbytes
        self._sizes += sizes
        stay = self._sizes <= self._limit
        self._num_rows += rows
        if self._num_rows > self._limit:
            stay[:] = False
        leave: dict[int, Sequence[pa.Array]] = {}
        if not stay.all():
            for position in np.flatnonzero(~stay).tolist():
                leave[int(self.numbers[position])] = [
                    earlier.column(position) for earlier in self._batches
                ]
            self._keep(stay)
        others = np.setdiff1d(np.arange(self._num_fields), self.numbers).tolist()
        if len(self.numbers):
            selected = batch.select(self.numbers.tolist()) if others else batch
            if not self._arrays_stay:
                selected = pa.concat_batches([selected, selected.slice(0, 0)])
            self._batches.append(selected)
        return {number: [*leave.get(number, ()), batch.column(number)] for number in others}

    def _keep(self, stay: np.ndarray) -> None:
        self.numbers, self._widths = self.numbers[stay], self._widths[stay]
        self._sizes = self._sizes[stay]
        positions = np.flatnonzero(stay).tolist()
        self._batches = [batch.select(positions) for batch in self._batches] if positions else []

    def sizes(self) -> Int64Array:
        """The bytes that wait, of each field; about 0 for a field that does not wait here."""
        waiting_bytes = np.zeros(self._num_fields, np.int64)
        waiting_bytes[self.numbers] = self._sizes
        return waiting_bytes

    def names(self, numbers: Sequence[int]) -> str:
        """The names of some fields, for an error."""
        first = [self._schema.fields[number].name for number in numbers[:_MAX_NAMES]]
        rest = len(numbers) - len(first)
        return ", ".join(first) + (f" and {rest} others" if rest else "")

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


def flush_together(
    columns: SmallColumns, encoder_of: Callable[[int], FieldEncoder], context: EncodeContext
) -> Iterator[list[tuple[int, EncodedPage]]]:
    """Flush all fields: lists of the number of a field and one of its pages, in order.

    ``encoder_of`` returns the encoder of a field that does not wait in ``columns``. Pages that are
    in memory at once are in one list.
    """
    sizes = columns.sizes().cumsum()
    batch = columns.joined()
    positions = dict(zip(columns.numbers.tolist(), range(batch.num_columns), strict=False))
    first = 0
    while first < len(sizes):
        start = sizes[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(sizes, start + WINDOW_BYTES, side="right")))
        numbers = [number for number in range(first, stop) if number in positions]
        # Only now: objects for all columns of the file at once would be collected as garbage.
        arrays = {number: batch.column(positions[number]) for number in numbers}
        try:
            pages = pages_together(arrays, context)
        except PluginError as error:
            raise error.at(field=columns.names(numbers)) from error
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
