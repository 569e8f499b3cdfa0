"""Read rows of one fragment: find the data file of each field, read it, and combine the columns.

A field that no file of the fragment contains reads as null (table.proto, DataFragment).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.datafile.reader import FileReader
from lance_core.dataset.read.fragments.live_rows import live
from lance_core.dataset.read.fragments.meta_columns import meta_column
from lance_core.dataset.snapshot.snapshot import Places, Snapshot
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module
from lance_core.schema import Field, described_in_file, wrap_chunks
from lance_core.schema.blobs.fields import has_given_blobs, is_blob_v2
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    from lance_core.dataset.blobs import payloads, versions
    from lance_core.encodings.decoding import ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
else:
    payloads = lazy_module("lance_core.dataset.blobs.payloads")
    versions = lazy_module("lance_core.dataset.blobs.versions")


def read_rows(
    snapshot: Snapshot,
    fragment: Fragment,
    fields: Sequence[Field],
    meta: Sequence[str],
    rows: AnyRows,
) -> pa.Table:
    """Physical ``rows`` of the fragment: the stored ``fields``, then the ``meta`` columns.

    ``fields`` may be pruned structs. The result includes deleted rows if ``rows`` does.
    """
    columns: list[pa.ChunkedArray] = []
    arrow: list[pa.Field] = []
    if fields:
        field_files = places_of(snapshot, fragment, fields)
        columns = _read_placed(snapshot, field_files, rows)
        if not meta:
            return pa.Table.from_arrays(columns, schema=field_files.schema)
        arrow = list(field_files.schema)
    elif meta:
        check_some_count(snapshot, fragment)
    for name in meta:
        values = meta_column(snapshot, fragment, name, rows)
        columns.append(pa.chunked_array([from_numpy(values)]))
        arrow.append(pa.field(name, pa.uint64()))
    if not columns:
        return zero_column_table(len(rows))
    return pa.Table.from_arrays(columns, schema=pa.schema(arrow))


def read_fields(
    snapshot: Snapshot, fragment: Fragment, fields: Sequence[Field], rows: AnyRows
) -> list[pa.ChunkedArray]:
    """The values of each field for physical ``rows``, in the field's Arrow type."""
    if not fields:
        return []
    return _read_placed(snapshot, places_of(snapshot, fragment, fields), rows)


def _read_placed(snapshot: Snapshot, field_files: Places, rows: AnyRows) -> list[pa.ChunkedArray]:
    """`read_fields`, of the fragment and the fields, at least one, that ``field_files`` are of."""
    fragment, fields, by_file = field_files.fragment, field_files.fields, field_files.by_file
    if fragment.overlays:
        raise UnsupportedFeatureError(f"fragment {fragment.id} has data overlay files")
    if max(by_file) < 0:
        check_some_count(snapshot, fragment)
    columns: dict[int, pa.ChunkedArray] = {}
    for number, (members, are_plain) in field_files.members.items():
        read = _read_file(snapshot, fragment, number, members, rows)
        if not are_plain:
            kernels = snapshot.root.registry.kernels
            pairs = zip(read, members, strict=True)
            read = [wrap_chunks(column, field, kernels) for column, field in pairs]
        if len(members) == len(fields):
            return read
        columns.update(zip(by_file[number], read, strict=True))
    for i in by_file.get(NOWHERE, ()):
        columns[i] = pa.chunked_array([pa.nulls(len(rows), fields[i].arrow_type)])
    for i in by_file.get(SPLIT, ()):
        columns[i] = _read_split(snapshot, fragment, fields[i], rows)
    return [columns[i] for i in range(len(fields))]


def find_integers(
    snapshot: Snapshot, fragment: Fragment, field: Field, rows: RowRange, index: IntegerIndex
) -> ValueMatches | None:
    """See `lance_core.encodings.dispatch.find_integers`."""
    if fragment.overlays or snapshot.blobs_v2:
        return None
    number = _place(field, fragment.file_of_field(), fragment)
    if number is None or number < 0:
        return None
    file = fragment.files[number]
    reader = check_count(snapshot, fragment, file, snapshot.physical_rows(fragment))
    return reader.find_integers(field, file.columns(), rows, index)


SPLIT = -1
NOWHERE = -2
"""Instead of a file's number: the field is in several files, or in none."""


def places_of(snapshot: Snapshot, fragment: Fragment, fields: Sequence[Field]) -> Places:
    """Where ``fields`` are in the files of ``fragment``.

    Those of the last two reads of a fragment are cached: computing them would dominate the time of
    reading single rows. A filter reads twice, first its own fields.
    """
    known = snapshot.files_of_fields.get(fragment.id, ())
    for cached in known:
        if cached.fragment is fragment and cached.fields is fields:
            if cached is not known[0]:
                snapshot.files_of_fields[fragment.id] = cached, known[0]
            return cached
    homes = fragment.file_of_field()
    unsorted: dict[int, list[int]] = {}
    for i, field in enumerate(fields):
        number = _place(field, homes, fragment)
        unsorted.setdefault(NOWHERE if number is None else number, []).append(i)
    by_file = dict(sorted(unsorted.items()))
    # Blobs of version 2 are described in files by other types than users see.
    has_blobs = bool(snapshot.blobs_v2)
    members = {}
    for number, positions in by_file.items():
        if number >= 0:
            part = tuple([fields[i] for i in positions])
            is_plain = not has_blobs and all(
                field.storage_type == field.arrow_type for field in part
            )
            members[number] = part, is_plain
    schema = pa.schema([field.to_arrow() for field in fields])
    field_files = Places(fragment, fields, by_file, members, schema)
    if isinstance(fields, tuple):  # only an immutable value is a safe cache key
        snapshot.files_of_fields[fragment.id] = field_files, *known[:1]
    return field_files


def _leaf_ids(field: Field, homes: Mapping[int, int]) -> Iterator[int]:
    """Ids of the fields at or below ``field`` that have a column of values."""
    if field.is_blob or _is_one_column(field, homes):
        yield field.id
    else:
        for child in field.children:
            yield from _leaf_ids(child, homes)


def _is_one_column(field: Field, homes: Mapping[int, int]) -> bool:
    """True if one column contains all of ``field``: a leaf, a blob, or a packed struct."""
    if not field.children or is_blob_v2(field):
        return True
    return (
        field.may_be_packed
        and field.id in homes
        and not any(child.id in homes for child in field.children)
    )


def _place(field: Field, homes: Mapping[int, int], fragment: Fragment) -> int | None:
    """The number of the file that contains all of ``field``, None if no file contains any of it.

    Returns `SPLIT` if several files contain parts of it.
    """
    numbers = {homes.get(leaf) for leaf in _leaf_ids(field, homes)}
    if len(numbers) > 1:
        return SPLIT
    (number,) = numbers
    if number is None or not field.is_struct or _is_one_column(field, homes):
        return number
    file = fragment.files[number]
    if _has_leaves_only(file):
        return number
    structs = {part.id for part in field.walk() if part.is_struct}
    # A file may contain the children without the column of the struct itself.
    return number if structs.issubset(file.fields) else SPLIT


def _has_leaves_only(file: DataFile) -> bool:
    """True if leaf columns include the validity of the structs around them."""
    return not file.version_facts.parents_have_columns


def check_count(
    snapshot: Snapshot, fragment: Fragment, file: DataFile, expected: int
) -> FileReader:
    """Open ``file``; raises `CorruptFileError` unless it has ``expected`` rows."""
    reader = snapshot.reader(file)
    num_rows = reader.num_rows
    if num_rows != expected:
        raise CorruptFileError(
            f"the file has {num_rows} rows, fragment {fragment.id} has {expected}",
            path=file.store_path(snapshot.base(file.base_id)),
            field="DataFragment.physical_rows",
        )
    return reader


def check_some_count(snapshot: Snapshot, fragment: Fragment) -> None:
    """Check the row count in one file, for a read that opens no file itself."""
    if fragment.files:
        check_count(snapshot, fragment, fragment.files[0], snapshot.physical_rows(fragment))


def _read_file(
    snapshot: Snapshot, fragment: Fragment, number: int, fields: Sequence[Field], rows: AnyRows
) -> list[pa.ChunkedArray]:
    file = fragment.files[number]
    reader = check_count(snapshot, fragment, file, snapshot.physical_rows(fragment))
    if snapshot.blobs_v2:
        return _read_blobs(snapshot, file, reader, fields, rows)
    return reader.read(fields, file.columns(), rows)


def _read_blobs(
    snapshot: Snapshot,
    file: DataFile,
    reader: FileReader,
    fields: Sequence[Field],
    rows: AnyRows,
) -> list[pa.ChunkedArray]:
    """The values of fields, with version 2 blobs as descriptions, bytes or a writer's input."""
    blobs = [_with_blobs_v2(field, snapshot.blobs_v2) for field in fields]
    read_as = [
        field if blob is None else described_in_file(blob)
        for field, blob in zip(fields, blobs, strict=True)
    ]
    stored = versions.as_in_file(file, read_as)
    read = reader.read(stored, file.columns(), rows)
    columns = list(map(versions.as_version_2, read, read_as, stored))
    for i, blob in enumerate(blobs):
        if blob is not None:
            as_given = has_given_blobs(fields[i])
            columns[i] = payloads.with_payloads(snapshot, file, columns[i], blob, as_given=as_given)
    return columns


def _with_blobs_v2(field: Field, blobs: Mapping[int, Field]) -> Field | None:
    """``field`` with version 2 blobs where it has their bytes; None if it has no bytes of blobs."""
    if field.id in blobs and (not field.children or has_given_blobs(field)):
        return blobs[field.id]
    children = [_with_blobs_v2(child, blobs) for child in field.children]
    if all(child is None for child in children):
        return None
    pairs = zip(field.children, children, strict=True)
    return field.with_children(tuple(own if new is None else new for own, new in pairs))


def _read_split(
    snapshot: Snapshot, fragment: Fragment, field: Field, rows: AnyRows
) -> pa.ChunkedArray:
    """The values of a field whose parts are in several files, because some were added later."""
    if any(_has_leaves_only(file) for file in fragment.files):
        return _read_members(snapshot, fragment, field, rows)
    if field.logical_type != "struct":
        raise UnsupportedFeatureError(f"field {field.name!r} is spread over several data files")
    children = read_fields(snapshot, fragment, field.children, rows)
    arrays = [combine_chunks(child) for child in children]
    struct = pa.StructArray.from_arrays(arrays, fields=[c.to_arrow() for c in field.children])
    return pa.chunked_array([struct])


def _read_members(
    snapshot: Snapshot, fragment: Fragment, field: Field, rows: AnyRows
) -> pa.ChunkedArray:
    """Like `_read_split`, for files whose leaf columns include the validity of structs."""
    if isinstance(rows, RowRange) and any(part.is_list for part in field.walk()):
        # A new file has any value for a deleted row, perhaps a list of another length.
        live_rows = live(snapshot, fragment, rows)
        if isinstance(live_rows, RowIndices):
            return _spread(_read_members(snapshot, fragment, field, live_rows), live_rows, rows)
    homes, kernels = fragment.file_of_field(), snapshot.root.registry.kernels
    parts = []
    for number in sorted({homes[leaf] for leaf in _leaf_ids(field, homes) if leaf in homes}):
        part = _part_in(field, homes, number)
        assert part is not None
        (column,) = _read_file(snapshot, fragment, number, [part], rows)
        parts.append((part, combine_chunks(wrap_chunks(column, part, kernels))))
    return pa.chunked_array([_merged(field, parts)])


def _spread(values: pa.ChunkedArray, present: RowIndices, rows: RowRange) -> pa.ChunkedArray:
    """``values`` of the rows ``present``, with null for the other ``rows``."""
    missing = np.ones(len(rows), bool)
    missing[present.values - rows.start] = False
    return values.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _part_in(field: Field, homes: Mapping[int, int], number: int) -> Field | None:
    """``field`` with only the parts in the file number ``number``; None if there are none."""
    if field.is_blob or _is_one_column(field, homes):
        return field if homes.get(field.id) == number else None
    children = [_part_in(child, homes, number) for child in field.children]
    stored = tuple(child for child in children if child is not None)
    return field.with_children(stored) if stored else None


def _merged(field: Field, parts: Sequence[tuple[Field, pa.Array]]) -> pa.Array:
    """The array of ``field``, merged from arrays of its parts.

    A struct is null if it is null in all parts. Lists must have the same lengths in all parts.
    """
    part, array = parts[0]
    if part == field:
        return array
    if field.is_list:
        return _merged_lists(field, parts)
    if field.logical_type != "struct":
        raise UnsupportedFeatureError(f"field {field.name!r} is spread over several data files")
    members = []
    for child in field.children:
        below_parts = [
            (below, struct.field(number))
            for part_field, struct in parts
            for number, below in enumerate(part_field.children)
            if below.id == child.id
        ]
        if below_parts:
            members.append(_merged(child, below_parts))
        else:
            members.append(pa.nulls(len(array), child.arrow_type))
    nulls = [np.asarray(array.is_null()) for _, array in parts]
    mask = from_numpy(np.logical_and.reduce(nulls)) if array.null_count else None
    kinds = [child.to_arrow() for child in field.children]
    return pa.StructArray.from_arrays(members, fields=kinds, mask=mask)


def _merged_lists(field: Field, parts: Sequence[tuple[Field, pa.Array]]) -> pa.Array:
    """The array of a list of structs, merged from lists with parts of the structs."""
    array = parts[0][1]
    lengths = [np.asarray(lists.value_lengths().fill_null(0)) for _, lists in parts]
    if any(not np.array_equal(lengths[0], other) for other in lengths[1:]):
        raise CorruptFileError(
            "the files with its parts have lists of different lengths", field=field.name
        )
    items = _merged(field.children[0], [(p.children[0], lists.flatten()) for p, lists in parts])
    is_large = pa.types.is_large_list(field.arrow_type)
    offsets = np.zeros(len(array) + 1, np.int64 if is_large else np.int32)
    np.cumsum(lengths[0], out=offsets[1:])
    mask = array.is_null() if array.null_count else None
    list_class = pa.LargeListArray if is_large else pa.ListArray
    return list_class.from_arrays(from_numpy(offsets), items, type=field.arrow_type, mask=mask)
