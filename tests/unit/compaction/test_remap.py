"""After a compaction indices find the rows where they are now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.dataset.read.sources.prefilter.usable_indices import usable_indices
from lance_core.dataset.snapshot.snapshot import HasSnapshot
from lance_core.errors import InvalidInputError, RetryableCommitConflictError
from lance_core.optimize import Compaction
from lance_core.table.indices.index_metadata import IndexMetadata
from lance_core_compaction import reuse
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import data_files, table_of

ROWS = 600


def index_of(dataset: HasSnapshot) -> IndexMetadata:
    (index,) = indices_of(dataset.snapshot)
    return index


def covered(dataset: HasSnapshot) -> list[int]:
    return list(index_of(dataset).fragments or ())


def check(dataset: lance.LanceDataset) -> None:
    """The index covers all rows, and filters return the same rows with and without it."""
    snapshot = dataset.snapshot
    by_field = [usable_indices(snapshot).of_field(snapshot, f.id) for f in snapshot.schema.fields]
    (indices,) = filter(None, by_field)
    ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
    assert [list(index.fragments) for index in indices] == [ids]
    for where in ("i = 7", "i IN (1, 250, 333, 599)", "i >= 130 AND i < 420", "NOT (i < 590)"):
        found = dataset.to_table(filter=where, fast_search=True)
        assert found == dataset.to_table(filter=where, use_scalar_index=False), where


def table(uri: str, **options: Any) -> lance.LanceDataset:
    dataset = table_of(uri, [100] * 6, **options)
    dataset.delete("i % 7 = 3")
    dataset.create_scalar_index("i", "BTREE")
    dataset.delete("i % 11 = 5 OR i >= 200 AND i < 300")
    return dataset


@each_case("stable, version", [(False, "2.1"), (True, "2.0"), (False, "legacy")])
def test_an_index_with_addresses_is_written_anew(
    tmp_path: Path, stable: bool, version: str
) -> None:
    dataset = table(str(tmp_path / "t"), enable_stable_row_ids=stable, data_storage_version=version)
    before = index_of(dataset)
    options = {"target_rows_per_fragment": 150}
    dataset.optimize.compact_files(**options)
    after = index_of(dataset)
    assert (after.created_at, after.dataset_version) == (before.created_at, before.dataset_version)
    assert (after.name, after.index_version) == (before.name, before.index_version)
    assert after.uuid != before.uuid
    folder = tmp_path / "t" / "_indices" / str(after.uuid)
    assert {file.path: file.size_bytes for file in after.files} == {
        path.name: path.stat().st_size for path in folder.iterdir()
    }
    transaction = dataset.get_transactions(1)[0]
    assert transaction is not None
    assert len(transaction.operation.rewritten_indices) == 1
    check(dataset)


@each_case("stable, defer", [(False, False), (False, True), (True, False)])
def test_an_index_of_a_plugin_is_built_used_compacted_and_listed(
    tmp_path: Path, stable: bool, defer: bool
) -> None:
    dataset = table_of(str(tmp_path / "t"), [100] * 6, enable_stable_row_ids=stable)
    dataset.create_scalar_index("i", "sorted_hash")
    dataset.delete("i % 7 = 3 OR i >= 200 AND i < 300")
    dataset.optimize.compact_files(target_rows_per_fragment=300, defer_index_remap=defer)
    dataset.insert(pa.table({"i": [600]}))
    dataset.optimize.optimize_indices()
    assert dataset.list_indices()[0]["type"] == "SortedHash"
    assert dataset.stats.index_stats("i_idx")["num_unindexed_rows"] == 0
    for where in ("i = 7", "i IN (1, 250, 333, 600)", "i = 333 AND i < 5"):
        assert "i_idx" in dataset.scanner(filter=where).explain_plan()
        found = dataset.to_table(filter=where, fast_search=True)
        assert found == dataset.to_table(filter=where, use_scalar_index=False), where


def test_only_rows_that_the_index_covers_are_written(uri: str) -> None:
    dataset = table(uri)
    dataset.update({"i": "i"}, "i = 100")
    dataset.optimize.compact_files(target_rows_per_fragment=400)
    path = f"{uri}/_indices/{index_of(dataset).uuid}/page_data.lance"
    stored = lance.file.LanceFileReader(path).read_all().to_table()
    assert stored["values"].to_pylist() == sorted(
        dataset.to_table(filter="i != 100")["i"].to_pylist()
    )


def test_covered_and_other_fragments_are_not_merged(uri: str) -> None:
    dataset = table(uri)
    lance.write_dataset(pa.table({"i": range(600, 700)}), dataset, mode="append")
    dataset.checkout_latest()
    dataset.optimize.compact_files()
    assert len(dataset.get_fragments()) == 2
    assert len(covered(dataset)) == 1 + 1  # and fragment 2, whose rows are all deleted


def test_a_compaction_that_fails_leaves_no_index_behind(uri: str) -> None:
    dataset = table(uri)
    behind = lance.dataset(uri)
    dataset.add_columns({"n": "i"})
    results = [task.execute(behind) for task in Compaction.plan(behind, {}).tasks]
    before = data_files(uri)
    with pytest.raises(RetryableCommitConflictError):
        Compaction.commit(behind, results)
    assert data_files(uri) == before


@each_case("version", ["2.1", "legacy"])
def test_a_fragment_reuse_index_leads_to_the_rows(tmp_path: Path, version: str) -> None:
    dataset = table(str(tmp_path / "t"), data_storage_version=version)
    before = index_of(dataset)
    for target, gone in ((150, 8), (400, 0), (450, 550)):
        dataset.optimize.compact_files(target_rows_per_fragment=target, defer_index_remap=True)
        assert index_of(dataset) == before
        check(dataset)
        dataset.delete(f"i = {gone}")
        check(dataset)
    dataset.update({"i": "i"}, "i = 120")
    rows = dataset.to_table(filter="i > 110 AND i < 130")
    assert rows == dataset.to_table(filter="i > 110 AND i < 130", use_scalar_index=False)


def test_a_compaction_after_deferred_ones_writes_the_index_anew(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = table(uri)
    dataset.optimize.compact_files(target_rows_per_fragment=150, defer_index_remap=True)
    monkeypatch.setattr(reuse, "MAX_INLINE_BYTES", 10)
    dataset.optimize.compact_files(target_rows_per_fragment=250, defer_index_remap=True)
    behind = lance.dataset(uri)
    results = [task.execute(behind) for task in Compaction.plan(behind, {}).tasks]
    Compaction.commit(behind, results)
    check(behind)
    behind.optimize.compact_files(target_rows_per_fragment=600, defer_index_remap=True)
    check(behind)


def test_results_with_and_without_a_deferred_remap_are_not_mixed(uri: str) -> None:
    dataset = table(uri)
    options = {"target_rows_per_fragment": 150}
    one, other = Compaction.plan(dataset, options).tasks[:2]
    deferred = Compaction.plan(dataset, options | {"defer_index_remap": True}).tasks[1]
    results = [one.execute(dataset), deferred.execute(dataset)]
    with pytest.raises(InvalidInputError, match="are committed separately"):
        Compaction.commit(dataset, results)
    Compaction.commit(dataset, [results[0], other.execute(dataset)])
    check(dataset)
