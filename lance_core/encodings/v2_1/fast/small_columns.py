"""Encode small columns together, with the same bytes as one by one.

A file with thousands of columns and few rows has one small page for each column, and selecting and
applying an encoding costs more than the values. Here numpy does it for many columns at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_plain, is_variable
from lance_core.encodings.v2_1.fast.leaf_columns import zeroes_nulls
from lance_core.encodings.v2_1.levels.tree import Node
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.structure import NARROW
from lance_core.encodings.v2_1.write.field_encoder import field_columns
from lance_core.errors import PluginError
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.page import EncodedPage
    from lance_core.encodings.version import FileVersion
    from lance_core.schema import Field, Schema

if TYPE_CHECKING:
    from lance_core.encodings.v2_1.fast import group_encoder as _encoder
else:  # tables of few columns do without
    _encoder = lazy_module("lance_core.encodings.v2_1.fast.group_encoder")

WINDOW_BYTES = 8 << 20
"""Bytes of the columns whose pages are in memory at once; fewer take longer, as numpy is called for
each group of columns of a window."""

MAX_BYTES = 256 << 10
"""Maximum bytes of a column that waits here; a larger one is worth the fixed cost of an encoder."""

_MAX_NAMES = 3
"""Maximum names of fields in an error about many."""


class _Waiting(NamedTuple):
    """The small fields of a schema: their positions and widths (see `_width`).

    ``num_shared`` is the number of these fields, less the number of their types. ``roots`` has the
    trees of those with children, by position.
    """

    numbers: Int64Array
    widths: Int64Array
    num_shared: int
    roots: Mapping[int, Node]


def _waiting(schema: Schema, version: FileVersion) -> _Waiting:
    types: Sequence[pa.DataType | None]
    roots: dict[int, Node] = {}
    if schema.is_plain:
        types = schema.storage_schema().types
    else:
        by_type: dict[pa.DataType, Node | None] = {}
        for number, field in enumerate(schema.fields):
            if not field.is_unmarked:
                root = _root(field, version)
            elif field.storage_type in by_type:
                root = by_type[field.storage_type]
            else:
                root = by_type[field.storage_type] = _root(field, version)
            if root is not None:
                roots[number] = root
        types = [roots[n].type if n in roots else None for n in range(schema.num_fields)]
    type_codes: dict[pa.DataType | None, int] = {}
    codes = np.array([type_codes.setdefault(type_, len(type_codes)) for type_ in types], np.int64)
    widths = np.array(list(map(_width, type_codes)), np.int64)[codes]
    numbers = np.flatnonzero(widths >= 0)
    num_shared = len(numbers) - len(np.unique(codes[numbers]))
    nested = {number: root for number, root in roots.items() if not root.is_leaf}
    return _Waiting(numbers, widths[numbers], num_shared, nested)


def _root(field: Field, version: FileVersion) -> Node | None:
    """The tree of ``field``; None if a leaf has options, or several rows for a row of the field."""
    if not (field.children or field.metadata):
        return Node(field.storage_type, is_leaf=True)
    plan = field_columns(field, version.value)
    if plan is None or field.is_packed_struct:
        return None
    is_plain = all(leaf.options == NO_OPTIONS and leaf.scale == 1 for leaf in plan.leaves)
    return plan.root if is_plain else None


def _width(type_: pa.DataType | None) -> int:
    """The bits of a value while it waits; -1 for values that do not wait here.

    0 for values whose arrays must be asked: texts, and those with parts.
    """
    if type_ is None:
        return -1
    if is_variable(type_):
        return 0
    if pa.types.is_null(type_):
        return 8
    if is_plain(type_):
        width = max(8, int(type_.bit_width))
        return width if width < 8 * NARROW else -1
    if pa.types.is_fixed_size_list(type_):
        return 0 if 0 < _width(type_.value_type) * type_.list_size < 8 * NARROW else -1
    parts = [type_.field(number).type for number in range(type_.num_fields)]
    return 0 if parts and all(_width(part) >= 0 for part in parts) else -1


class SmallColumns:
    """Rows of columns that are too small for a page before the end of the file.

    Whole batches are copied, so that the larger memory of which they are a part can be freed,
    unless `EncodeContext.arrays_stay`. A column that becomes too large leaves with all its rows.
    """

    def __init__(self, schema: Schema, context: EncodeContext) -> None:
        """Has the fields without options whose values are small; `numbers`: their positions.

        `num_shared` is the number of these fields, less the number of their types.
        """
        self._schema = schema
        version = context.version
        self.numbers, self._widths, self.num_shared, self.roots = schema.derived(
            f"small columns of {version.value}", lambda: _waiting(schema, version)
        )
        self._num_fields = schema.num_fields
        # Encoders compare other sizes with these limits, too; here no limit must come into effect.
        self._arrays_stay = context.arrays_stay
        depth = max([len(path) for root in self.roots.values() for path in root.paths()], default=1)
        flush_bytes = context.flush_bytes // (2 * depth)
        self._limit = min(MAX_BYTES, flush_bytes, context.max_page_bytes)
        self._sizes = np.zeros(len(self.numbers), np.int64)
        self._batches: list[pa.RecordBatch] = []
        self._num_rows = 0

    def add(self, batch: pa.RecordBatch) -> dict[int, Sequence[pa.Array]]:
        """Append a batch of all fields; returns the arrays, by field, that do not wait here."""
        rows = batch.num_rows
        sizes = rows * self._widths // 8 + rows // 8 + 1
        for position in np.flatnonzero(self._widths == 0).tolist():
            number = int(self.numbers[position])
            array, root = batch.column(number), self.roots.get(number)
            depends = root is not None and zeroes_nulls(array, root)
            sizes[position] = self._limit + 1 if depends else array.nbytes
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
            pages = _encoder.pages_together(arrays, columns.roots, context)
        except PluginError as error:
            raise error.at(field=columns.names(numbers)) from error
        done: list[tuple[int, EncodedPage]] = []
        for number in range(first, stop):
            own = pages.pop(number, None)
            if own is not None:
                done += [(number, page) for page in own]
                continue
            yield done
            done = []
            encoder = encoder_of(number)
            if number in arrays:
                yield [(number, page) for page in encoder.write(arrays[number])]
            yield from ([(number, page)] for page in encoder.flush())
        yield done
        first = stop
