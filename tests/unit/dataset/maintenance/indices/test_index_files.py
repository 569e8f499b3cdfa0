"""The files of indices go when no version has the index any more, and no sooner."""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.indices import IndexConfig


def table(numbers: Iterable[int]) -> pa.Table:
    numbers = list(numbers)
    documents = [f'{{"n": {number}}}' for number in numbers]
    return pa.table({"x": numbers, "y": numbers, "j": pa.array(documents, pa.json_())})


def folders(uri: str) -> set[str]:
    """The folders of indices that have files."""
    return {path.parent.name for path in Path(uri, "_indices").rglob("*") if path.is_file()}


def listed(dataset: lance.LanceDataset) -> set[str]:
    return {str(index.uuid) for index in indices_of(dataset.snapshot)}


def clean(dataset: lance.LanceDataset) -> None:
    dataset.cleanup_old_versions(
        older_than=datetime.timedelta(0),
        delete_unverified=True,
        error_if_tagged_old_versions=False,
    )


def test_a_cleanup_removes_the_files_of_replaced_and_dropped_indices_only(uri: str) -> None:
    dataset = lance.write_dataset(table(range(60)), uri)
    dataset.create_scalar_index("x", "BTREE")
    dataset.create_scalar_index("y", "BITMAP")
    for target in ("bitmap", "btree"):
        config = IndexConfig("json", {"path": "n", "target_index_type": target})
        dataset.create_scalar_index("j", config, name="j_idx")
    first = listed(dataset)
    dataset.create_scalar_index("x", "BTREE")
    assert len(folders(uri)) == 5
    clean(dataset)
    assert folders(uri) == listed(dataset) != first
    dataset.insert(table([60]))
    dataset.optimize.optimize_indices()
    dataset.delete("x = 3")
    dataset.optimize.compact_files()
    dataset.tags.create("kept", dataset.version)
    kept = listed(dataset)
    dataset.drop_index("y_idx")
    clean(dataset)
    assert folders(uri) == kept > listed(dataset)
    dataset.tags.delete("kept")
    clean(dataset)
    assert folders(uri) == listed(dataset)
    assert dataset.to_table(filter="x = 60").num_rows == 1
    assert dataset.to_table(filter="json_get_int(j, 'n') = 60", fast_search=True).num_rows == 1
    dataset.drop_index("j_idx")
    clean(dataset)
    assert folders(uri) == listed(dataset)
    assert len(listed(dataset)) == 1


def test_a_cleanup_removes_segments_that_were_merged_or_not_committed(uri: str) -> None:
    dataset = lance.write_dataset(table(range(60)), uri, max_rows_per_file=20)
    segments = [
        dataset.create_index_uncommitted("x", "BTREE", name="i", fragment_ids=[id_])
        for id_ in range(3)
    ]
    merged = dataset.merge_existing_index_segments(segments[:2])
    dataset.commit_existing_index_segments("i", "x", [merged])
    assert len(folders(uri)) == 4
    dataset.insert(table([60]))
    clean(dataset)
    assert folders(uri) == listed(dataset) == {merged.uuid}
    assert dataset.to_table(filter="x = 30", fast_search=True).num_rows == 1


def test_files_of_an_index_that_no_version_has_go_after_seven_days(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"x": [1]}), uri)
    path = Path(uri, "_indices", str(uuid.uuid4()), "page_data.lance")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"1")
    dataset.insert(pa.table({"x": [2]}))
    dataset.cleanup_old_versions()
    assert path.is_file()
    before = path.stat().st_mtime - 8 * 86400
    os.utime(path, (before, before))
    dataset.cleanup_old_versions()
    assert not path.is_file()


def test_a_branch_uses_and_keeps_the_indices_of_its_table(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"x": range(40)}), uri, max_rows_per_file=10)
    dataset.create_scalar_index("x", "BTREE")
    inherited = listed(dataset)
    branch = dataset.create_branch("b")
    dataset.drop_index("x_idx")
    clean(dataset)
    assert folders(uri) == inherited
    branch.optimize.compact_files()
    (index,) = indices_of(branch.snapshot)
    assert index.base_id is None
    assert branch.to_table(filter="x = 7", fast_search=True).num_rows == 1
    assert (Path(uri) / "tree" / "b" / "_indices" / str(index.uuid)).is_dir()
