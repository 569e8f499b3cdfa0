"""`take_blobs`, `read_blobs`, `read_blob_ranges`: read the blobs of selected rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.pools import in_order
from lance_core.dataset.blobs.file import BlobFile, check_range, checked_buffer_size
from lance_core.dataset.blobs.source import BlobSource, read_ranges, sources_v1, sources_v2
from lance_core.dataset.read.fragments.fragment_reader import read_fields
from lance_core.dataset.read.given_rows.row_addresses import picks_of
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.row_locations import Selector
from lance_core.dataset.read.sources.row_positions import FragmentPositions, Indices, Int64Array
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowIndices
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, format_path, is_blob_v2
from lance_core.schema.project import project_lineages
from lance_core.store.base import ObjectStore


@dataclass(frozen=True, slots=True, eq=False)
class BlobSelection:
    """The selected rows, and the meaning of their numbers."""

    selector: Selector
    rows: Indices

    @classmethod
    def of(
        cls, ids: Indices | None, addresses: Indices | None, indices: Indices | None
    ) -> BlobSelection:
        """The selection; raises `InvalidInputError` unless exactly one argument is not None."""
        selectors = {"ids": ids, "addresses": addresses, "indices": indices}
        chosen = [(name, rows) for name, rows in selectors.items() if rows is not None]
        if len(chosen) != 1:
            raise InvalidInputError("Exactly one of ids, indices, or addresses must be specified")
        name, rows = chosen[0]
        return cls(Selector(name), rows)


def take_blobs(
    snapshot: Snapshot, column: str, selection: BlobSelection, buffer_size: int
) -> list[BlobFile | None]:
    """A file for the blob of each row, None for null; reads only descriptions."""
    checked_buffer_size(buffer_size)
    selected = _selected_blobs(snapshot, column, selection)
    return [
        None if source is None else BlobFile(source, buffer_size)
        for source in (selected.sources[row] for row in selected.order.tolist())
    ]


def read_blobs(
    snapshot: Snapshot, column: str, selection: BlobSelection, preserve_order: bool
) -> list[tuple[int, bytes | None]]:
    """The row address and the blob's bytes for each row.

    ``preserve_order``: False returns them in the order of addresses.
    """
    selected = _selected_blobs(snapshot, column, selection)
    ranges = [
        None if source is None else (source, source.range(0, source.size))
        for source in selected.sources
    ]
    data = _read(ranges)
    order = selected.order if preserve_order else np.sort(selected.order)
    addresses = selected.addresses.tolist()
    return [(addresses[row], data[row]) for row in order.tolist()]


def read_blob_ranges(
    snapshot: Snapshot,
    column: str,
    requests: Sequence[tuple[int, int, int]],
    selector: str,
    preserve_order: bool,
) -> list[tuple[int, int, bytes | None]]:
    """The index, the row address and the bytes of each request (row, offset, length).

    Raises `InvalidInputError` for an unknown ``selector`` and for a range outside of its blob.
    """
    if selector not in {member.value for member in Selector}:
        raise InvalidInputError(
            f"selector must be one of 'ids', 'addresses', or 'indices', got {selector!r}"
        )
    rows = [row for row, _, _ in requests]
    selected = _selected_blobs(snapshot, column, BlobSelection(Selector(selector), rows))
    ranges: list[tuple[BlobSource, ByteRange] | None] = []
    for row, (_, offset, length) in zip(selected.order.tolist(), requests, strict=True):
        source = selected.sources[row]
        if source is not None:
            check_range(source, offset, length)
        ranges.append(None if source is None else (source, source.range(offset, length)))
    data = _read(ranges)
    addresses = selected.addresses[selected.order].tolist()
    results = [(n, address, data[n]) for n, address in enumerate(addresses)]
    return results if preserve_order else sorted(results, key=lambda result: result[1])


@dataclass(frozen=True, slots=True, eq=False)
class _SelectedBlobs:
    """The blobs of distinct rows with their row addresses, by fragment and offset.

    ``order``: the index of each requested row among them.
    """

    sources: list[BlobSource | None]
    addresses: Int64Array
    order: Int64Array


def _selected_blobs(snapshot: Snapshot, column: str, selection: BlobSelection) -> _SelectedBlobs:
    lineage = _lineage(snapshot, column)
    picks, order = picks_of(snapshot, selection.selector, selection.rows)

    def sources(pick: FragmentPositions) -> list[BlobSource | None]:
        return list(_sources(snapshot, pick, lineage))

    sources_of_picks = in_order(
        sources, picks, tuning().ahead.local_fragments, is_io_bound=snapshot.is_io_bound
    )
    every = [source for part in sources_of_picks for source in part]
    parts = [(pick.fragment.id << 32) + pick.offsets for pick in picks]
    addresses = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return _SelectedBlobs(every, addresses, order)


def _lineage(snapshot: Snapshot, column: str) -> tuple[Field, ...]:
    """The fields from the top level down to a blob field.

    Raises `InvalidInputError` for another field, and for a blob in a list.
    """
    lineage = snapshot.schema.lineage(column)
    if not lineage:
        raise InvalidInputError(f"Field {column!r} not found")
    if not (lineage[-1].is_blob or is_blob_v2(lineage[-1])) or not all(
        field.is_struct for field in lineage[:-1]
    ):
        raise InvalidInputError(f"the column {column!r} is not a blob column")
    return lineage


def _sources(
    snapshot: Snapshot, pick: FragmentPositions, lineage: tuple[Field, ...]
) -> Iterator[BlobSource | None]:
    path = format_path([field.name for field in lineage])
    described = snapshot.schema_with_descriptions.lineage(path)
    (field,) = project_lineages([described])
    blob = lineage[-1]
    rows = RowIndices(pick.offsets)
    (read,) = read_fields(snapshot, pick.fragment, [field], rows)
    number = pick.fragment.file_of_field().get(blob.id)
    if number is None:
        yield from [None] * len(pick.offsets)
        return
    find = sources_v2 if is_blob_v2(blob) else sources_v1
    for chunk in read.chunks:
        yield from find(snapshot, pick.fragment.files[number], _member(chunk, len(lineage) - 1))


def _member(array: pa.Array, depth: int) -> pa.StructArray:
    """The array ``depth`` structs below ``array``, each with one child; null where a struct is."""
    if depth == 0:
        return array
    (child,) = array.flatten()
    return _member(child, depth - 1)


def _read(blob_ranges: Sequence[tuple[BlobSource, ByteRange] | None]) -> list[bytes | None]:
    """The bytes of each range, in order, with one store call for each object."""
    numbers_of: dict[tuple[int, str], list[int]] = defaultdict(list)
    stores: dict[int, ObjectStore] = {}
    results: list[bytes | None] = [None] * len(blob_ranges)
    for number, blob_range in enumerate(blob_ranges):
        if blob_range is None:
            continue
        source, where = blob_range
        if where.start == where.stop:
            results[number] = b""
            continue
        stores[id(source.store)] = source.store
        numbers_of[id(source.store), source.path].append(number)

    def read(item: tuple[tuple[int, str], list[int]]) -> list[bytes]:
        (store, path), numbers = item
        ranges = [
            blob_range[1]
            for blob_range in (blob_ranges[number] for number in numbers)
            if blob_range is not None
        ]
        return [data.to_pybytes() for data in read_ranges(stores[store], path, ranges)]

    items = list(numbers_of.items())
    for (_, numbers), data in zip(
        items, in_order(read, items, tuning().ahead.local_fragments), strict=True
    ):
        for number, one_bytes in zip(numbers, data, strict=True):
            results[number] = one_bytes
    return results
