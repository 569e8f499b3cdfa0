"""Index sections with far more entries than a query can look at."""

from __future__ import annotations

import dataclasses
import time
import uuid
import warnings
from collections.abc import Callable, Iterable

import pyarrow as pa

import lance_core as lance
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    encode_fragment_ids,
    entries_of_field,
    fragment_bitmap,
    index_at,
    parse_index_section,
    serialize_index_section,
)
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from tests.each_case import each_case

ENTRIES = 20_000
PATIENCE = 10
"""Seconds of processor time; it takes a fifth of a second on a machine that does nothing else."""

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


def _table_with_entries(entries: Callable[[IndexMetadata], Iterable[IndexMetadata]]) -> str:
    """The URI of a table of ten fragments whose index section has these entries and a real one."""
    uri = f"memory://{uuid.uuid4()}/table"
    dataset = lance.write_dataset(pa.table({"i": range(100)}), uri, max_rows_per_file=10)
    dataset.create_scalar_index("i", "BTREE")
    snapshot = dataset.snapshot
    (real,) = parse_index_section(snapshot.file.index_section)
    file = parse_manifest_file(bytes(snapshot.root.store.get(snapshot.location.path)))
    section = serialize_index_section([*entries(real), real])
    changed = serialize_manifest_file(dataclasses.replace(file, index_section=section))
    snapshot.root.store.put(snapshot.location.path, changed)
    return uri


@each_case("name", OTHERS)
def test_a_query_plans_a_section_of_many_entries_in_bounded_time(name: str) -> None:
    uri = _table_with_entries(
        lambda real: (
            dataclasses.replace(OTHERS[name](real, number), uuid=uuid.UUID(int=number))
            for number in range(ENTRIES)
        )
    )
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


LISTED = 10_000

COVERAGE: dict[str, Callable[[IndexMetadata, int], IndexMetadata]] = {
    "segments of all fragments": lambda one, _: one,
    "segments of one fragment": lambda one, number: dataclasses.replace(
        one, fragment_bitmap=encode_fragment_ids(fragment_bitmap([number % 12]))
    ),
    "indices of all fragments": lambda one, number: dataclasses.replace(one, name=f"x{number}"),
}


@each_case("name", COVERAGE)
def test_many_indices_are_listed_and_described_in_bounded_time(name: str) -> None:
    uri = _table_with_entries(
        lambda real: (
            dataclasses.replace(COVERAGE[name](real, number), uuid=uuid.UUID(int=number))
            for number in range(LISTED)
        )
    )
    started = time.process_time()
    dataset = lance.dataset(uri)
    assert dataset.has_index
    listed = dataset.list_indices()
    described = dataset.describe_indices()
    assert time.process_time() - started < PATIENCE
    assert len(listed) == sum(len(one.segments) for one in described) == LISTED + 1
    assert {one.num_rows_indexed for one in described} == {100}
    first = listed[0]["fragment_ids"]
    assert first == (frozenset([0]) if name == "segments of one fragment" else set(range(10)))


def test_indexed_rows_are_the_live_rows_of_existing_fragments() -> None:
    covered = [[0, 3, 40], [3, 4], [], [9, 2]]
    uri = _table_with_entries(
        lambda real: (
            dataclasses.replace(
                real,
                uuid=uuid.UUID(int=number),
                name=f"x{number % 3}",
                fragment_bitmap=encode_fragment_ids(fragment_bitmap(ids)),
            )
            for number, ids in enumerate(covered)
        )
    )
    dataset = lance.dataset(uri)
    dataset.delete("i IN (1, 2, 35) OR i >= 95")
    found = {one.name: one.num_rows_indexed for one in dataset.describe_indices()}
    assert found == {"i_idx": 92, "x0": 8 + 9 + 5 + 10, "x1": 9 + 10, "x2": 0}
    ids = [one["fragment_ids"] for one in dataset.list_indices() if one["name"] == "x0"]
    assert ids == [{0, 3, 40}, {9, 2}]
