"""Find keys in the target of a merge, and read target rows by address."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.pools import in_order
from lance_core.dataset.expressions.filters import Filter, Mask
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID, Projection, select
from lance_core.dataset.read.fragments.blob_sizes import blob_sizes, described_blobs, size_cuts
from lance_core.dataset.read.fragments.fragment_reader import read_rows
from lance_core.dataset.read.fragments.meta_columns import meta_column
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import scan_table, search
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import all_spans
from lance_core.dataset.read.sources.row_positions import runs
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.dataset.read.steps.key_search import KeyMatches
from lance_core.dataset.read.windows.window_sizing import late_sizer
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, packed_rows
from lance_core.encodings.kernels.numpy.integer_index import Int64Array, IntegerIndex, MemberRows
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, binary_json
from lance_core.schema.blobs.fields import given_to_files
from lance_core.schema.empty_arrays import empty_table
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    from lance_core.dataset.read.sources.prefilter import prefilter as prefilters
    from lance_core.dataset.read.sources.prefilter.prefilter import Prefilter
else:
    prefilters = lazy_module("lance_core.dataset.read.sources.prefilter.prefilter")

Addresses = npt.NDArray[np.uint64]

INDEXED_ROWS = 1 << 24
"""Target rows of one search of indices, whose result is a table of the matched rows."""

ROWS_PER_KEY = 20
"""Minimum rows of the target for each row of the source at which indices find keys. For more keys,
reading the key columns of all rows is as fast."""

NO_MATCHES = KeyMatches(np.empty(0, np.uint64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class _IsMatched:
    """The condition on target rows that their key is in ``index``."""

    index: KeyIndex
    columns: tuple[tuple[str, ...], ...]
    type: ClassVar = pa.bool_()
    nullable: ClassVar = False
    metadata: ClassVar = None
    path: ClassVar = None
    node: ClassVar = None

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([from_numpy(self.mask(data))])

    def mask(self, data: pa.Table) -> Mask:
        mask = np.zeros(data.num_rows, np.bool_)
        mask[self.index.find([data.column(path[0]) for path in self.columns]).rows] = True
        return mask


class _MatchFilter(Filter):
    """A filter with an `_IsMatched`, whose mask needs no conversion to Arrow and back."""

    condition: _IsMatched

    def mask(self, data: pa.Table) -> Mask:
        return self.condition.mask(data)


@dataclass(frozen=True, slots=True)
class _KeySearch:
    """The search for the keys of ``index`` in key columns; see `FindKeys`."""

    index: KeyIndex
    integers: IntegerIndex | None

    def __call__(self, data: pa.Table) -> MemberRows:
        return self.index.find(data.columns)


def find_keys(
    snapshot: Snapshot,
    names: Sequence[str],
    index: KeyIndex,
    fragments: Iterable[Fragment] | None = None,
    source: pa.Table | None = None,
) -> KeyMatches:
    """The live rows of the table, or of some of its fragments, whose key is in ``index``.

    ``source``: the rows whose keys these are; if they are few, indices of the table find them.
    """
    schema = snapshot.schema_with_descriptions
    if source is not None:
        paths = tuple((name,) for name in names)
        condition = _MatchFilter(paths, _IsMatched(index, paths))
        prefilter = index_search(snapshot, names, source, condition)
        if prefilter is not None:
            projection = select(schema, list(names), [ROW_ADDRESS])
            rows = prefilters.IndexedRows((), condition, search=prefilter)
            plan = ScanPlan(projection, rows, schema)
            return _indexed_matches(snapshot, plan, index)
    spans = all_spans(snapshot)
    if fragments is not None:
        spans = tuple(Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment in fragments)

    plan = ScanPlan(select(schema, list(names)), SpanRows(spans), schema)
    types = [field.storage_type for field in plan.projection.fields]
    return _joined(search(snapshot, plan, _KeySearch(index, index.integers(types))))


def index_search(
    snapshot: Snapshot, names: Sequence[str], source: pa.Table, condition: Filter
) -> Prefilter | None:
    """The search of indices for the keys of ``source``; None if a scan is faster.

    ``condition`` is tested for the rows that the indices find.
    """
    is_small = source.num_rows * ROWS_PER_KEY <= snapshot.num_rows
    if not is_small or snapshot.file.index_section is None:
        return None
    columns = {name: source.column(name) for name in names}
    return prefilters.prefilter_of_keys(snapshot, condition, columns)


def _indexed_matches(snapshot: Snapshot, plan: ScanPlan, index: KeyIndex) -> KeyMatches:
    """The result of `find_keys`, from a plan that searches indices and returns keys and address."""

    def matches(spans: tuple[Span, ...]) -> KeyMatches:
        table = scan_table(snapshot, plan.of_spans(spans))
        addresses = to_numpy(table.column(ROW_ADDRESS))
        return KeyMatches(addresses, index.find(table.columns[:-1]).members)

    return _joined(map(matches, _searches(all_spans(snapshot))))


def _joined(parts: Iterable[KeyMatches]) -> KeyMatches:
    """The matches of all parts."""
    return KeyMatches(*map(np.concatenate, zip(NO_MATCHES, *parts, strict=True)))


def _searches(spans: Sequence[Span]) -> Iterator[tuple[Span, ...]]:
    """The spans in groups of about `INDEXED_ROWS` rows."""
    group: list[Span] = []
    rows = 0
    for span in spans:
        group.append(span)
        rows += span.stop - span.start
        if rows >= INDEXED_ROWS:
            yield tuple(group)
            group, rows = [], 0
    if group:
        yield tuple(group)


def rows_at(snapshot: Snapshot, addresses: Addresses, projection: Projection) -> pa.Table:
    """The columns of ``projection`` for the live rows at ``addresses``, in their order."""
    if not len(addresses):
        return empty_table(projection.schema)
    rows = _read_at(snapshot, addresses, projection.fields, projection.meta)
    return projection.apply(rows, snapshot.root.registry.kernels)


def _read_at(
    snapshot: Snapshot, addresses: Addresses, fields: Sequence[Field], meta: Sequence[str]
) -> pa.Table:
    """`read_rows` of the rows at ``addresses``, of which there are some, in their order."""
    order: Int64Array | None = None
    rows = addresses.astype(np.int64)
    if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
        rows, order = np.unique(rows, return_inverse=True)

    def read(part: tuple[int, Int64Array]) -> pa.Table:
        fragment = snapshot.fragment(part[0])
        return read_rows(snapshot, fragment, fields, meta, packed_rows(part[1] & 0xFFFFFFFF))

    parts = list(runs(rows >> 32, rows))
    tables = list(
        in_order(read, parts, tuning().ahead.local_fragments, is_io_bound=snapshot.is_io_bound)
    )
    table = pa.concat_tables(tables)
    return table if order is None else take_rows(table, from_numpy(order))


class OldRows:
    """Reads columns of rows that are written again, in pieces of bounded memory.

    The values are as writers take them: blobs are bytes or, in version 2, what `given_to_files`
    describes, so that external blobs stay external; JSON is the binary JSON of files.
    """

    def __init__(self, snapshot: Snapshot, names: Collection[str]) -> None:
        self._snapshot = snapshot
        fields = (field for field in snapshot.schema.fields if field.name in names)
        self._fields = tuple(binary_json(given_to_files(field)) for field in fields)
        self._described = described_blobs(snapshot, self._fields)
        self._sizer = late_sizer(
            self._fields,
            tuning().blobs.sized_rows if self._described else tuning().rows.rewritten_rows,
        )

    def pieces(self, addresses: Addresses) -> Iterator[tuple[slice, pa.Table]]:
        """The live rows at ``addresses`` in their order: parts of ``addresses`` and their rows."""
        start = 0
        while start < len(addresses):
            part = addresses[start : start + self._sizer.rows]
            for first, stop in self._cuts(part):
                rows = _read_at(self._snapshot, part[first:stop], self._fields, ())
                self._sizer.observe_data(rows.num_rows, rows)
                yield slice(start + first, start + stop), rows
            start += len(part)

    def _cuts(self, addresses: Addresses) -> Iterable[tuple[int, int]]:
        """The parts of ``addresses`` whose blobs are not too large to be read at once."""
        if not self._described:
            return [(0, len(addresses))]
        distinct, order = np.unique(addresses, return_inverse=True)
        sizes = [
            blob_sizes(
                self._snapshot,
                self._snapshot.fragment(id_),
                self._described,
                packed_rows(offsets.astype(np.int64)),
            )
            for id_, offsets in by_fragment(distinct).items()
        ]
        return size_cuts(np.concatenate(sizes)[order], tuning().stream.max_bytes)


def by_fragment(addresses: Addresses) -> dict[int, RowOffsets]:
    """Distinct ``addresses`` as ascending offsets by fragment id."""
    ascending = np.sort(addresses).astype(np.int64)
    return {
        fragment_id: (part & 0xFFFFFFFF).astype(np.uint32)
        for fragment_id, part in runs(ascending >> 32, ascending)
    }


def addresses_of(rows: Mapping[int, RowOffsets]) -> Addresses:
    """The addresses of rows that are given as offsets by fragment id."""
    parts = [np.uint64(id_ << 32) + offsets.astype(np.uint64) for id_, offsets in rows.items()]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def ids_at(snapshot: Snapshot, addresses: Addresses) -> Addresses:
    """The row ids of the rows at distinct ``addresses``, in their order."""
    order = np.argsort(addresses, kind="stable")
    ids = np.empty(len(addresses), np.uint64)
    start = 0
    for id_, offsets in by_fragment(addresses).items():
        rows = RowIndices(offsets.astype(np.int64))
        positions = order[start : start + len(offsets)]
        ids[positions] = meta_column(snapshot, snapshot.fragment(id_), ROW_ID, rows)
        start += len(offsets)
    return ids
