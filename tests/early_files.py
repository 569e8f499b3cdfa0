"""2.0 files as releases up to 0.13 wrote them, made of files that are written today.

These releases store strings and binary values as lists of bytes, whose items are no field.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core._pb import file_pb2, table_pb2
from lance_core.encodings.arrow.strings import is_variable
from tests.fuzz.container import Parsed
from tests.fuzz.unsealed import without_checksums
from tests.table_surgery import edit_manifest


@without_checksums
def write_early(table: pa.Table, uri: str, **options: int) -> lance.LanceDataset:
    """Write a table without lists of bytes of its own, as one version of an early table."""
    columns = {name: _byte_lists(table[name].combine_chunks()) for name in table.column_names}
    dataset = lance.write_dataset(
        pa.table(columns), uri, data_storage_version="2.0", mode="overwrite", **options
    )
    return edit_manifest(dataset, lambda manifest: _make_early(manifest, Path(uri)))


def _byte_lists(array: pa.Array) -> pa.Array:
    """Strings as lists of bytes; the name of the items says what they are of."""
    kind = array.type
    if is_variable(kind):
        large = kind in (pa.large_string(), pa.large_binary())
        items = pa.field(str(kind), pa.uint8())
        array = pa.concat_arrays([array, array[:0]])  # no slice
        bitmap, offsets, data = array.buffers()
        octets = pa.py_buffer(b"") if data is None else data
        values = pa.Array.from_buffers(pa.uint8(), octets.size, [None, octets])
        lists = (pa.large_list if large else pa.list_)(items)
        return pa.Array.from_buffers(lists, len(array), [bitmap, offsets], -1, 0, [values])
    if pa.types.is_struct(kind):
        members = [_byte_lists(array.field(number)) for number in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, [member.name for member in kind])
    if pa.types.is_list(kind):
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, _byte_lists(array.values), mask=mask)
    return array


def _make_early(manifest: table_pb2.Manifest, root: Path) -> None:
    dropped = _without_items(manifest.fields)
    for fragment in manifest.fragments:
        (file,) = fragment.files
        pairs = zip(file.fields, file.column_indices, strict=True)
        kept = [(field, column) for field, column in pairs if field not in dropped]
        file.fields[:] = [field for field, _ in kept]
        file.column_indices[:] = [column for _, column in kept]
        path = root / "data" / file.path
        parsed = Parsed(path.read_bytes())
        _without_items(parsed.descriptor.schema.fields)
        raw = parsed.build()
        path.write_bytes(raw)
        file.file_size_bytes = len(raw)


def _without_items(fields: MutableSequence[file_pb2.Field]) -> set[int]:
    """Make strings of lists of bytes, and return the ids of the items, which go."""
    by_id = {field.id: field for field in fields}
    items = {field.id for field in fields if field.logical_type == "uint8"}
    for field_id in items:
        item = by_id[field_id]
        by_id[item.parent_id].logical_type = item.name
    kept = [field for field in fields if field.id not in items]
    del fields[:]
    fields.extend(kept)
    return items
