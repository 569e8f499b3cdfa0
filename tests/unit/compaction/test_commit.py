"""Commits of compactions: steps, other processes, and other writers at the same time."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse
from lance_core.errors import (
    CommitFileMissingError,
    CommitUnknownError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from lance_core.optimize import (
    Compaction,
    CompactionMetrics,
    CompactionPlan,
    CompactionTask,
    RewriteResult,
)
from lance_core.table.indices.index_metadata import IndexMetadata, parse_index_section
from lance_core.table.indices.reuse_index import FragmentDigest
from lance_core_compaction import reuse
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import (
    data_files,
    planned,
    table_of,
)


@pytest.fixture
def dataset(uri: str) -> lance.LanceDataset:
    return table_of(uri, [10] * 6)


@pytest.fixture
def indexed(dataset: lance.LanceDataset) -> lance.LanceDataset:
    """With an index that covers no rows: the fragments are planned as without it."""
    dataset.create_scalar_index("i", "BTREE", train=False)
    return dataset


def test_new_fragments_get_reserved_ids_and_come_last(uri: str) -> None:
    dataset = table_of(uri, [10, 10, 100, 10, 10])
    dataset.optimize.compact_files(target_rows_per_fragment=50)
    assert [f.fragment_id for f in dataset.get_fragments()] == [2, 5, 6]
    assert dataset.version == 4
    reserve, rewrite = dataset.get_transactions(2)[::-1]
    assert reserve is not None
    assert rewrite is not None
    assert rewrite.read_version == 3
    assert dataset.to_table()["i"].to_pylist() == [*range(20, 120), *range(20), *range(120, 140)]


def test_metrics_have_the_bytes_of_new_files(dataset: lance.LanceDataset) -> None:
    metrics = dataset.optimize.compact_files(compaction_mode="reencode")
    files = [file for one in dataset.get_fragments() for file in one.data_files()]
    assert metrics.bytes_written == sum(file.file_size_bytes or 0 for file in files) > 0


def test_without_work_nothing_is_committed(dataset: lance.LanceDataset) -> None:
    assert dataset.optimize.compact_files(target_rows_per_fragment=10) == CompactionMetrics()
    assert Compaction.commit(dataset, []) == CompactionMetrics()
    assert dataset.latest_version == dataset.version == 2


def test_tasks_run_in_other_processes_from_a_uri(dataset: lance.LanceDataset, uri: str) -> None:
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": 20})
    assert repr(plan) == "CompactionPlan(read_version=2, tasks=<3 compaction tasks>)"
    assert plan.num_tasks() == 3
    assert pickle.loads(pickle.dumps(plan)) == CompactionPlan.from_json(plan.json()) == plan
    one, other, _ = plan.tasks
    assert one.fragments == [f.metadata for f in dataset.get_fragments()[:2]]
    assert len(pickle.dumps(one)) < 2000
    results = [pickle.loads(pickle.dumps(one)).execute(uri)]
    results.append(CompactionTask.from_json(other.json()).execute(uri, storage_options={}))
    sent = [pickle.loads(pickle.dumps(results[0])), RewriteResult.from_json(results[1].json())]
    assert sent == results
    assert repr(sent[0]).startswith("RewriteResult(read_version=2, new_fragments=[Fragment")
    assert sent[0].old_fragments == sent[0].original_fragments == one.fragments
    metrics = Compaction.commit(dataset, sent, {"num_threads": 1})
    assert (metrics.fragments_removed, metrics.fragments_added) == (4, 2)
    assert [f.count_rows() for f in dataset.get_fragments()] == [10, 10, 20, 20]
    assert sorted(dataset.to_table()["i"].to_pylist()) == [*range(60)]


def test_a_task_reads_the_version_that_was_planned(dataset: lance.LanceDataset) -> None:
    (task,) = Compaction.plan(dataset, {}).tasks
    dataset.delete("i < 30")
    assert task.execute(dataset).new_fragments[0].physical_rows == 60


def test_a_task_of_another_table_is_refused(dataset: lance.LanceDataset, tmp_path: Path) -> None:
    (task,) = Compaction.plan(dataset, {}).tasks
    other = table_of(str(tmp_path / "other"), [10] * 6)
    with pytest.raises(InvalidInputError, match="it is of another table"):
        task.execute(other)


@each_case("kind", [CompactionPlan, CompactionTask, RewriteResult])
def test_other_text_is_no_task(kind: Any) -> None:
    for text in ("x", "{}", "[]", "3", '{"tasks": 1, "task": 1, "read_version": "a"}'):
        with pytest.raises(InvalidInputError, match=f"Could not load {kind.__name__}"):
            kind.from_json(text)


def test_unknown_members_of_json_are_ignored(dataset: lance.LanceDataset) -> None:
    result = Compaction.plan(dataset, {}).tasks[0].execute(dataset)
    tree = json.loads(result.json())
    tree["metrics"] = {"fragments_removed": 6, "of_a_later_release": 1}
    loaded = RewriteResult.from_json(json.dumps(tree | {"also": 2}))
    assert loaded.metrics == CompactionMetrics(fragments_removed=6)


def test_a_fragment_is_rewritten_once(dataset: lance.LanceDataset) -> None:
    (task,) = Compaction.plan(dataset, {}).tasks
    result = task.execute(dataset)
    with pytest.raises(InvalidInputError, match="fragment 0 is in two results"):
        Compaction.commit(dataset, [result, result])
    with pytest.raises(TypeError, match="a list of RewriteResult, got int"):
        Compaction.commit(dataset, [1])  # type: ignore[list-item]
    Compaction.commit(dataset, [result])
    with pytest.raises(RetryableCommitConflictError):
        Compaction.commit(dataset, [result])
    assert dataset.count_rows() == 60


def test_a_result_whose_file_is_gone_is_refused(dataset: lance.LanceDataset, uri: str) -> None:
    result = Compaction.plan(dataset, {}).tasks[0].execute(dataset)
    (Path(uri) / "data" / result.new_fragments[0].files[0].path).unlink()
    with pytest.raises(CommitFileMissingError):
        Compaction.commit(dataset, [result])
    assert lance.dataset(uri).count_rows() == 60


DELETIONS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "delete": lambda ds: ds.delete("i IN (3, 15, 16)"),
    "update": lambda ds: ds.update({"i": "i + 1000"}, "i % 10 = 5"),
    "upsert": lambda ds: (
        ds.merge_insert("i")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(pa.table({"i": [15, 200]}))
    ),
    "delete of most rows": lambda ds: ds.delete("i != 30 AND i % 10 != 1"),
}


def checked(dataset: lance.LanceDataset, rows: pa.Table) -> None:
    """The newest version has ``rows``, in one fragment and in those that came later."""
    dataset.checkout_latest()
    dataset.validate()
    assert dataset.to_table().sort_by("i") == rows.sort_by("i")
    for value in (0, 15, 30, 1015):
        condition = f"i = {value}"
        expected = dataset.to_table(filter=condition, use_scalar_index=False)
        assert dataset.to_table(filter=condition) == expected


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("change", DELETIONS)
def test_rows_deleted_meanwhile_are_deleted_in_the_new_fragments(
    uri: str, change: str, stable: bool
) -> None:
    dataset = table_of(uri, [10] * 6, enable_stable_row_ids=stable)
    dataset.delete("i IN (2, 3, 14, 59)")
    dataset.create_scalar_index("i", "BTREE")
    ids = dataset.to_table(columns=["i"], with_row_id=True)
    (task,) = Compaction.plan(dataset, {}).tasks
    result = task.execute(dataset)
    behind = lance.dataset(uri)
    DELETIONS[change](dataset)
    rows = dataset.to_table()
    metrics = Compaction.commit(behind, [result])
    assert (metrics.fragments_removed, metrics.fragments_added) == (6, 1)
    assert metrics.files_added == 2
    checked(dataset, rows)
    assert [f.count_rows() for f in dataset.get_fragments()][-1] < 56
    if stable:
        unchanged = pa.compute.is_in(ids["i"], dataset.to_table()["i"])
        now = dataset.to_table(columns=["i"], with_row_id=True)
        same = [row for row in ids.filter(unchanged).to_pylist() if row["i"] not in (15, 200)]
        assert all(row in now.to_pylist() for row in same)


def test_a_new_fragment_may_lose_all_rows_meanwhile(dataset: lance.LanceDataset, uri: str) -> None:
    dataset.create_scalar_index("i", "BTREE")
    results = [
        task.execute(dataset)
        for task in Compaction.plan(dataset, {"target_rows_per_fragment": 20}).tasks
    ]
    behind = lance.dataset(uri)
    dataset.update({"i": "i + 1000"}, "i >= 20 AND i < 39")
    dataset.update({"i": "i + 1000"}, "i = 39")
    rows = dataset.to_table()
    with pytest.raises(RetryableCommitConflictError, match="fragment 2 is gone"):
        Compaction.commit(behind, results)
    Compaction.commit(behind, [results[0], results[2]])
    checked(dataset, rows)


def test_deletions_of_a_deferred_remap_are_kept(indexed: lance.LanceDataset, uri: str) -> None:
    indexed.create_scalar_index("i", "BTREE", replace=True)
    (task,) = Compaction.plan(indexed, {"defer_index_remap": True}).tasks
    result = task.execute(indexed)
    behind = lance.dataset(uri)
    indexed.delete("i IN (0, 15, 59)")
    rows = indexed.to_table()
    Compaction.commit(behind, [result])
    checked(indexed, rows)


def test_deleted_rows_that_a_restore_brings_back_are_a_conflict(
    dataset: lance.LanceDataset, uri: str
) -> None:
    before = lance.dataset(uri)
    dataset.delete("i = 15")
    (task,) = Compaction.plan(dataset, {}).tasks
    result = task.execute(dataset)
    before.restore()
    with pytest.raises(RetryableCommitConflictError, match="deleted rows of fragment 1 are back"):
        Compaction.commit(dataset, [result])
    assert lance.dataset(uri).count_rows() == 60


REPLACEMENTS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "delete of a fragment": lambda ds: ds.delete("i < 10"),
    "add_columns": lambda ds: ds.add_columns({"n": "i"}),
    "compaction": lambda ds: ds.optimize.compact_files(),
    "overwrite": lambda ds: lance.write_dataset(pa.table({"i": [1]}), ds.uri, mode="overwrite"),
}


@pytest.mark.parametrize("change", REPLACEMENTS)
def test_replaced_fragments_are_a_conflict_after_which_a_compaction_plans_anew(
    dataset: lance.LanceDataset, uri: str, change: str
) -> None:
    behind = lance.dataset(uri)
    results = [task.execute(behind) for task in Compaction.plan(behind, {}).tasks]
    REPLACEMENTS[change](dataset)
    before, rows = data_files(uri), lance.dataset(uri).to_table()
    with pytest.raises(RetryableCommitConflictError):
        Compaction.commit(lance.dataset(uri), results)
    assert data_files(uri) == before
    metrics = behind.optimize.compact_files()
    assert metrics.fragments_left == 0
    assert len(behind.get_fragments()) <= 2
    checked(behind, rows)
    assert not unnamed_files(behind) - {
        "data/" + one.new_fragments[0].files[0].path for one in results
    }


def unnamed_files(dataset: lance.LanceDataset) -> set[str]:
    """The data and deletion files, and folders of indices, that no version names."""
    named: set[str] = set()
    for described in dataset.versions():
        snapshot = dataset.checkout_version(described["version"]).snapshot
        indices = parse_index_section(snapshot.file.index_section)
        named |= {f"_indices/{index.uuid}" for index in indices}
        for fragment in snapshot.manifest.fragments:
            named |= {f"data/{file.path}" for file in fragment.files}
            if fragment.deletion_file is not None:
                named.add(fragment.deletion_file.store_path(fragment.id))
    root, folders = Path(dataset.uri), ("data", "_deletions", "_indices")
    files = [path for name in folders for path in (root / name).rglob("*") if path.is_file()]
    relative = [path.relative_to(root) for path in files]
    found = {str(one.parent if one.parts[0] == "_indices" else one) for one in relative}
    return found - named


def test_an_index_of_some_fragments_of_a_task_is_a_conflict(
    dataset: lance.LanceDataset, uri: str
) -> None:
    behind = lance.dataset(uri)
    results = [task.execute(behind) for task in Compaction.plan(behind, {}).tasks]
    segment = dataset.create_index_uncommitted("i", "BTREE", name="n", fragment_ids=[0, 1])
    dataset.commit_existing_index_segments("n", "i", [segment])
    with pytest.raises(RetryableCommitConflictError, match="covers only some of the fragments"):
        Compaction.commit(behind, results)
    rows = dataset.to_table()
    metrics = behind.optimize.compact_files()
    assert (metrics.fragments_removed, metrics.fragments_left) == (6, 0)
    checked(behind, rows)
    assert len(behind.get_fragments()) == 2


def test_an_index_of_all_fragments_of_a_task_follows_its_rows(
    dataset: lance.LanceDataset, uri: str
) -> None:
    behind = lance.dataset(uri)
    (task,) = Compaction.plan(behind, {}).tasks
    result = task.execute(behind)
    dataset.create_scalar_index("i", "BTREE")
    rows = dataset.to_table()
    Compaction.commit(behind, [result])
    checked(behind, rows)
    assert behind.stats.index_stats("i_idx")["num_unindexed_rows"] == 0


HARMLESS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "append": lambda ds: lance.write_dataset(pa.table({"i": [100]}), ds, mode="append"),
    "config": lambda ds: ds.update_config({"a": "b"}),
    "rename": lambda ds: ds.alter_columns({"path": "i", "name": "j"}),
}


@pytest.mark.parametrize("change", HARMLESS)
def test_other_changes_are_kept(dataset: lance.LanceDataset, uri: str, change: str) -> None:
    behind = lance.dataset(uri)
    HARMLESS[change](dataset)
    rows = lance.dataset(uri).count_rows()
    behind.optimize.compact_files()
    assert behind.count_rows() == rows
    behind.validate()
    if change == "append":
        assert [f.count_rows() for f in behind.get_fragments()] == [1, 60]


def test_a_delete_after_a_compaction_that_it_did_not_see_is_computed_again(
    dataset: lance.LanceDataset, uri: str
) -> None:
    behind = lance.dataset(uri)
    dataset.optimize.compact_files()
    assert behind.delete("i = 15") == {"num_deleted_rows": 1}
    assert behind.count_rows() == 59


def test_an_unknown_outcome_keeps_the_files(
    dataset: lance.LanceDataset, uri: str, lose_outcomes: Callable[[], None]
) -> None:
    lose_outcomes()
    before = len(data_files(uri))
    with pytest.raises(CommitUnknownError):
        dataset.optimize.compact_files()
    assert len(data_files(uri)) == before + 1
    assert dataset.version == 2


def test_results_that_meet_a_conflict_can_be_committed_without_the_others(
    dataset: lance.LanceDataset, uri: str
) -> None:
    results = [
        task.execute(dataset)
        for task in Compaction.plan(dataset, {"target_rows_per_fragment": 20}).tasks
    ]
    lance.dataset(uri).delete("i >= 10 AND i < 20")
    with pytest.raises(RetryableCommitConflictError):
        Compaction.commit(dataset, results)
    Compaction.commit(dataset, results[1:])
    assert [f.count_rows() for f in dataset.get_fragments()] == [10, 20, 20]


def test_a_compaction_on_a_branch_leaves_the_table_alone(dataset: lance.LanceDataset) -> None:
    branch = dataset.create_branch("b")
    rows = branch.to_table()
    branch.optimize.compact_files()
    assert branch.to_table() == rows
    assert len(branch.get_fragments()) == 1
    assert len(dataset.get_fragments()) == 6
    assert planned(dataset, {}) == [[0, 1, 2, 3, 4, 5]]


def reuse_index(dataset: lance.LanceDataset) -> IndexMetadata:
    indices = parse_index_section(dataset.snapshot.file.index_section)
    (index,) = (one for one in indices if one.name == "__lance_frag_reuse")
    return index


def test_without_an_index_no_old_addresses_are_kept(dataset: lance.LanceDataset) -> None:
    dataset.optimize.compact_files(defer_index_remap=True)
    assert not parse_index_section(dataset.snapshot.file.index_section)
    assert len(dataset.get_fragments()) == 1


def test_a_deferred_remap_stores_where_the_rows_are(indexed: lance.LanceDataset, uri: str) -> None:
    indexed.delete("i IN (0, 12)")
    indexed.optimize.compact_files(defer_index_remap=True, target_rows_per_fragment=20)
    index = reuse_index(indexed)
    assert (index.name, index.fields, index.index_version) == ("__lance_frag_reuse", (), 0)
    assert list(index.fragments or ()) == [6, 7]
    assert index.dataset_version == indexed.version - 1
    (version,) = fragment_reuse(indexed.snapshot).versions
    assert version.dataset_version == indexed.version - 1
    first, second = version.groups
    assert first.old == (FragmentDigest(0, 10, 1), FragmentDigest(1, 10, 1), FragmentDigest(2, 10))
    assert first.new == (FragmentDigest(6, 28),)
    assert second.new == (FragmentDigest(7, 30),)
    # Two bitmaps of fragment 0 and 1, each with one run before and after the deleted row.
    assert first.row_addresses[:12] == bytes([3, *bytes(7), *bytes(4)])


def test_a_fragment_reuse_index_is_extended(
    indexed: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed.optimize.compact_files(defer_index_remap=True)
    before = reuse_index(indexed)
    lance.write_dataset(pa.table({"i": [100]}), indexed, mode="append")
    indexed.checkout_latest()
    monkeypatch.setattr(reuse, "MAX_INLINE_BYTES", 10)
    indexed.optimize.compact_files(defer_index_remap=True)
    index = reuse_index(indexed)
    assert index.uuid != before.uuid
    assert [
        [new.id for group in version.groups for new in group.new]
        for version in fragment_reuse(indexed.snapshot).versions
    ] == [[6], [8]]
    assert list(index.fragments or ()) == [6, 8]
    assert (Path(uri) / "_indices" / str(index.uuid) / "details.binpb").is_file()
    indexed.delete("i = 100")
    assert reuse_index(indexed) == index


def test_two_deferred_remaps_at_the_same_time_are_both_committed(
    indexed: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reuse, "MAX_INLINE_BYTES", 10)
    options = {"target_rows_per_fragment": 20, "defer_index_remap": True}
    one, other, _ = Compaction.plan(indexed, options).tasks
    results = [one.execute(indexed), other.execute(indexed)]
    from lance_core_compaction import commit as committing

    real = committing.extended
    raced: list[object] = []

    def extended(*args: Any) -> IndexMetadata:
        made = real(*args)
        if not raced:
            raced.append(None)
            Compaction.commit(lance.dataset(uri), [results[1]])
        return made

    monkeypatch.setattr(committing, "extended", extended)
    Compaction.commit(indexed, [results[0]])
    assert len(fragment_reuse(indexed.snapshot).versions) == 2
    assert indexed.to_table().sort_by("i")["i"].to_pylist() == [*range(60)]
    assert not unnamed_files(indexed)
