"""Index sections with far more entries than a query can look at."""

from __future__ import annotations

import dataclasses
import time
import uuid
import warnings
from collections.abc import Callable

import pyarrow as pa

import lance_core as lance
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    entries_of_field,
    index_at,
    parse_index_section,
    serialize_index_section,
)
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from tests.each_case import each_case

ENTRIES = 50_000
PATIENCE = 10
"""Seconds of processor time; it takes half a second on a machine that does nothing else."""

OTHERS: dict[str, Callable[[IndexMetadata, int], IndexMetadata]] = {
    "segments of one index": lambda one, _: one,
    "indices of one column": lambda one, number: dataclasses.replace(one, name=f"x{number}"),
    "indices of other columns": lambda one, number: dataclasses.replace(
        one, name=f"x{number}", fields=(number + 1,)
    ),
    "indices without details": lambda one, number: dataclasses.replace(
        one, name=f"x{number}", index_details=None, files=()
    ),
    "indices of an unknown type": lambda one, number: dataclasses.replace(
        one, name=f"x{number}", index_details=IndexDetails("/lance.table.Unknown", b"x")
    ),
}


@each_case("name", OTHERS)
def test_a_query_plans_a_section_of_many_entries_in_bounded_time(name: str) -> None:
    uri = f"memory://{uuid.uuid4()}/table"
    dataset = lance.write_dataset(pa.table({"i": range(100)}), uri, max_rows_per_file=10)
    dataset.create_scalar_index("i", "BTREE")
    snapshot = dataset.snapshot
    (real,) = parse_index_section(snapshot.file.index_section)
    others = (
        dataclasses.replace(OTHERS[name](real, number), uuid=uuid.UUID(int=number))
        for number in range(ENTRIES)
    )
    file = parse_manifest_file(bytes(snapshot.root.store.get(snapshot.location.path)))
    section = serialize_index_section([*others, real])
    changed = serialize_manifest_file(dataclasses.replace(file, index_section=section))
    snapshot.root.store.put(snapshot.location.path, changed)
    started = time.process_time()
    with warnings.catch_warnings(action="ignore"):  # the other indices have no files
        now = lance.dataset(uri)
        assert now.to_table(filter="i = 7")["i"].to_pylist() == [7]
        assert now.count_rows("i < 7") == 7
    assert time.process_time() - started < PATIENCE


def test_entries_of_a_field_are_those_of_the_section() -> None:
    indices = [
        IndexMetadata(
            uuid=uuid.UUID(int=number),
            name=f"x{number}",
            fields=(number % 3,),
            index_details=IndexDetails("/lance.table.BTreeIndexDetails") if number % 2 else None,
            unknown=b"\x98\x06\x01" if number == 4 else b"",
        )
        for number in range(9)
    ]
    section = serialize_index_section(indices)
    assert section is not None
    assert parse_index_section(section) == tuple(indices)
    found = [entry.position for entry in entries_of_field(section, 1)]
    assert found == [1, 4, 7]
    assert [index_at(section, position) for position in found] == [indices[n] for n in found]
    assert list(entries_of_field(None, 1)) == []
