"""Both libraries list, describe and count the indices of a table alike, whichever created them."""

from __future__ import annotations

import dataclasses
import importlib
import uuid
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

NO_UUID = uuid.UUID(int=0)

KINDS = {
    "BTREE": "x",
    "BITMAP": "c",
    "LABEL_LIST": "l",
    "ZONEMAP": "t",
    "BLOOMFILTER": "D",
    "NGRAM": "t",
}
"""A column for each type. No members of structs: pylance 14 cannot optimise their indices."""


def rows(start: int, count: int = 60) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "x": pa.array([None if n % 10 == 3 else n for n in numbers], pa.int64()),
            "t": [f"the text {n}" for n in numbers],
            "l": [[str(n % 4), str(n % 3)] for n in numbers],
            "c": [n % 5 for n in numbers],
            "D": list(numbers),
        }
    )


def create_all(lib: ModuleType, dataset: Any) -> None:
    for kind, column in KINDS.items():
        dataset.create_scalar_index(column, kind)
    dataset.create_scalar_index("x", lib.indices.IndexConfig("btree", {"zone_size": 20}), "pages")


def described(dataset: Any) -> list[dict[str, Any]]:
    """All indices with their segments, as dictionaries."""
    found = []
    for index in dataset.describe_indices():
        names = [field.name for field in dataclasses.fields(lance_core.indices.IndexDescription)]
        one = {name: getattr(index, name) for name in names}
        one["segments"] = [
            {
                field.name: getattr(segment, field.name)
                for field in dataclasses.fields(lance_core.indices.IndexSegmentDescription)
            }
            for segment in index.segments
        ]
        for segment in one["segments"]:
            segment["fragment_ids"] = set(segment["fragment_ids"])
            created = segment["created_at"]
            # The manifest has milliseconds; pylance remembers more of an index that it created.
            segment["created_at"] = created.replace(microsecond=created.microsecond // 1000 * 1000)
        found.append(one)
    return found


def listed(dataset: Any) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return [{**one, "fragment_ids": set(one["fragment_ids"])} for one in dataset.list_indices()]


def assert_same(uri: str) -> None:
    ours, theirs = lance_core.dataset(uri), lance.dataset(uri)
    assert described(ours) == described(theirs)
    assert listed(ours) == listed(theirs)
    for index in ours.describe_indices():
        name = index.name
        assert ours.stats.index_stats(name) == theirs.stats.index_stats(name), name


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("lib", [lance, lance_core])
def test_indices_are_described_alike(tmp_path: Path, lib: ModuleType, stable: bool) -> None:
    uri = str(tmp_path / "table")
    dataset = lib.write_dataset(rows(0), uri, max_rows_per_file=20, enable_stable_row_ids=stable)
    create_all(lib, dataset)
    assert_same(uri)
    dataset.delete("x < 22")
    dataset.insert(rows(60))
    assert_same(uri)
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    assert len(listed(dataset)) == 2 * (len(KINDS) + 1)
    assert_same(uri)
    # Each library extends and merges what the other one has created.
    other = (lance if lib is lance_core else lance_core).dataset(uri)
    other.insert(rows(120))
    other.optimize.optimize_indices(num_indices_to_merge=2)
    assert len(listed(other)) == len(KINDS) + 1
    assert_same(uri)
    for query in ("x = 25", "c = 3", "array_has(l, '2')", "t = 'the text 70'", "x IS NULL"):
        expected = sorted(lance_core.dataset(uri).to_table(filter=query)["t"].to_pylist())
        assert sorted(lance.dataset(uri).to_table(filter=query)["t"].to_pylist()) == expected


def test_an_index_has_the_same_metadata_from_both(tmp_path: Path) -> None:
    found = []
    for lib in (lance, lance_core):
        uri = str(tmp_path / lib.__name__)
        create_all(lib, lib.write_dataset(rows(0), uri, max_rows_per_file=20))
        indices = indices_of(lance_core.dataset(uri).snapshot)
        anonymous = [
            dataclasses.replace(
                index,
                uuid=NO_UUID,
                created_at=0,
                files=tuple(dataclasses.replace(file, size_bytes=0) for file in index.files),
            )
            for index in indices
        ]
        found.append(anonymous)
    assert found[0] == found[1]


def as_index(lib: ModuleType, segment: Any) -> Any:
    """The metadata of a segment as the class of one of the libraries."""
    module = importlib.import_module(f"{lib.__name__}.dataset")
    values = {field.name: getattr(segment, field.name) for field in dataclasses.fields(segment)}
    values["fragment_ids"] = set(segment.fragment_ids)
    values["files"] = [module.IndexFile(file.path, file.size_bytes) for file in segment.files]
    return module.Index(**values)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_segments_of_one_library_are_merged_and_committed_by_the_other(
    tmp_path: Path, kind: str
) -> None:
    uri = str(tmp_path / "table")
    lance.write_dataset(rows(0), uri, max_rows_per_file=20)
    for number, (one, other) in enumerate([(lance, lance_core), (lance_core, lance)]):
        made = [
            one.dataset(uri).create_index_uncommitted(
                KINDS[kind], kind, name=f"i{number}", fragment_ids=[fragment]
            )
            for fragment in range(3)
        ]
        theirs = [as_index(other, segment) for segment in made]
        dataset = other.dataset(uri)
        merged = dataset.merge_existing_index_segments(theirs[:2])
        dataset.commit_existing_index_segments(f"i{number}", KINDS[kind], [merged, theirs[2]])
    assert_same(uri)
