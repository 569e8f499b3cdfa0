"""Deleting rows: which ones, what is written for it, and what happens beside other writers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write import discard_on_failure as discarding
from lance_core.dataset.write.delete import delete
from lance_core.dataset.write.retry_on_conflict import ConflictRetries
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    InvalidInputError,
    LanceError,
    RetryableCommitConflictError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.transactions.operations import Delete
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused
from lance_core_testing.stores.tracing import TracingStore
from tests.scan_numbers import tune
from tests.table_surgery import delete_rows, edit_manifest

Rows = Callable[..., pa.Table]

T = TypeVar("T")


def numbers(dataset: lance.LanceDataset) -> list[int]:
    found: list[int] = dataset.to_table(["i"])["i"].to_pylist()
    return found


def made_by(dataset: lance.LanceDataset) -> Delete:
    """The operation that made the open version."""
    transaction = dataset.read_transaction(dataset.version)
    assert transaction is not None
    operation = transaction.operation.to_stored()
    assert isinstance(operation, Delete)
    return operation


def deletion_files(uri: str) -> list[str]:
    return sorted(path.name for path in Path(uri, "_deletions").glob("*"))


@pytest.fixture
def dataset(uri: str, some_rows: Rows) -> lance.LanceDataset:
    """The numbers 0 to 99 in fragments of 30."""
    return lance.write_dataset(some_rows(100), uri, max_rows_per_file=30)


def test_a_delete_makes_a_version_without_the_rows_and_moves_the_dataset_there(
    dataset: lance.LanceDataset,
) -> None:
    assert dataset.delete("i % 10 = 3 AND i < 50") == {"num_deleted_rows": 5}
    assert dataset.version == 2
    assert numbers(dataset) == [n for n in range(100) if n % 10 != 3 or n >= 50]
    assert dataset.checkout_version(1).count_rows() == 100
    dataset.validate()


def test_only_fragments_with_such_rows_get_deletion_files(
    dataset: lance.LanceDataset, uri: str
) -> None:
    dataset.delete("i IN (31, 33)")
    operation = made_by(dataset)
    (fragment,) = operation.updated_fragments
    assert fragment.id == 1
    file = fragment.deletion_file
    assert file is not None
    assert (file.read_version, file.num_deleted_rows) == (1, 2)
    assert deletion_files(uri) == [f"1-1-{file.id}.arrow"]
    assert operation.predicate == "i IN (31, 33)"


def test_fragments_without_any_row_left_are_removed(dataset: lance.LanceDataset, uri: str) -> None:
    dataset.delete("i = 35")
    assert dataset.delete("i BETWEEN 30 AND 60") == {"num_deleted_rows": 30}
    assert made_by(dataset).deleted_fragment_ids == (1,)
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [0, 2, 3]
    assert numbers(dataset) == [*range(30), *range(61, 100)]


def test_a_condition_that_holds_for_all_rows_is_not_evaluated(
    dataset: lance.LanceDataset, uri: str
) -> None:
    dataset.delete("i = 5")
    traced = TracingStore(dataset.snapshot.root.store)
    root = dataclasses.replace(dataset.snapshot.root, store=traced)
    snapshot = Snapshot(root, dataset.snapshot.file, dataset.snapshot.location)
    made, result = delete(snapshot, "true", ConflictRetries(0, 1.0))
    assert result == {"num_deleted_rows": 99}
    assert made.num_rows == 0
    assert not [call for call in traced.trace.records if call.call.path.startswith("data/")]
    dataset.checkout_latest()
    assert made_by(dataset).deleted_fragment_ids == (0, 1, 2, 3)
    assert dataset.to_table().num_rows == 0


@pytest.mark.parametrize("predicate", ["i > 1000", "false", "s = 'nowhere'", "1 = 2"])
def test_a_condition_that_holds_nowhere_makes_a_version_with_the_same_rows(
    dataset: lance.LanceDataset, uri: str, predicate: str
) -> None:
    assert dataset.delete(predicate) == {"num_deleted_rows": 0}
    operation = made_by(dataset)
    assert (len(operation.updated_fragments), operation.deleted_fragment_ids) == (0, ())
    assert dataset.version == 2
    assert dataset.count_rows() == 100
    assert not deletion_files(uri)


def test_rows_where_the_condition_is_null_stay(uri: str) -> None:
    table = pa.table({"i": [1, None, 3, None], "f": [float("nan"), 1.0, None, 2.0]})
    dataset = lance.write_dataset(table, uri)
    assert dataset.delete("i <> 3") == {"num_deleted_rows": 1}
    assert dataset.delete("NOT (i = 1)") == {"num_deleted_rows": 1}
    assert dataset.to_table()["f"].to_pylist() == [1.0, 2.0]
    assert dataset.delete("i IS NULL AND f > 1") == {"num_deleted_rows": 1}
    assert dataset.to_table()["f"].to_pylist() == [1.0]


def test_rows_of_many_small_fragments_are_found_at_once(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fragments have dictionaries of their own, and some have no rows or no such rows."""
    parts = [pa.array([f"{n}", "x", None, f"{n + 1}"]).dictionary_encode() for n in range(20)]
    rows = pa.table({"i": range(80), "d": pa.chunked_array(parts)})
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=4)
    dataset.delete("i % 4 = 1 AND i < 40 OR i = 0 OR i BETWEEN 20 AND 22")
    expected = dataset.to_table(filter="d = '5' OR d IS NULL OR d = 'x'")["i"].to_pylist()
    assert len(expected) == 30
    tune(monkeypatch, runs={"first": 3, "most": 3})
    where = "d = '5' OR d IS NULL OR d = 'x'"
    assert dataset.count_rows(where) == len(expected)
    assert dataset.delete(where) == {"num_deleted_rows": len(expected)}
    assert not set(numbers(dataset)) & set(expected)
    assert dataset.count_rows() == 80 - 13 - len(expected)


@pytest.mark.parametrize(
    "predicate",
    [
        pc.field("i") < 10,
        "p.x < 10",
        "_rowaddr < 10",
        "_rowoffset < 10 AND _rowid < 100",
        "s LIKE 'text _' OR (s IS NULL AND i < 10)",
        "array_length(l) >= 0 AND p.q.z < 5",
    ],
)
def test_conditions_are_those_of_scans(
    dataset: lance.LanceDataset, predicate: str | pc.Expression
) -> None:
    assert dataset.delete(predicate) == {"num_deleted_rows": 10}
    assert numbers(dataset) == list(range(10, 100))
    assert made_by(dataset).predicate == str(predicate)


@pytest.mark.parametrize(
    ("predicate", "error"),
    [
        ("", InvalidInputError),
        ("i", InvalidInputError),
        ("i + 1", InvalidInputError),
        ("nothing = 1", InvalidInputError),
        ("i = 'x", InvalidInputError),
        ("i / 0 = 1", InvalidInputError),
        ("NULL", InvalidInputError),
        ("frobnicate(i)", LanceError),
        ("i IN (SELECT 1)", UnsupportedFeatureError),
        (None, InvalidInputError),
        (7, InvalidInputError),
        (pc.field("nothing") == 1, InvalidInputError),
    ],
)
def test_what_is_no_condition_is_refused_and_changes_nothing(
    dataset: lance.LanceDataset, uri: str, predicate: object, error: type[LanceError]
) -> None:
    with pytest.raises(error):
        dataset.delete(predicate)
    assert (dataset.version, dataset.latest_version) == (1, 1)
    assert not deletion_files(uri)


@pytest.mark.parametrize(
    "options",
    [
        {"conflict_retries": -1},
        {"conflict_retries": "x"},
        {"retry_timeout": 5},
        {"retry_timeout": timedelta(seconds=-1)},
    ],
)
def test_senseless_retries_are_refused(
    dataset: lance.LanceDataset, options: dict[str, object]
) -> None:
    with pytest.raises(InvalidInputError):
        dataset.delete("i = 1", **options)  # type: ignore[arg-type]  # wrong on purpose
    assert dataset.latest_version == 1


def test_a_table_with_unknown_features_is_refused_before_its_rows_are_read(
    dataset: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_for_more(manifest: table_pb2.Manifest) -> None:
        manifest.writer_feature_flags |= 1 << 40

    def fail(*_: object) -> None:
        raise AssertionError("rows are read")

    edit_manifest(dataset, ask_for_more)
    monkeypatch.setattr(deletions, "find", fail)
    changed = lance.dataset(uri)
    with pytest.raises(UnsupportedFeatureError, match="bit 40"):
        changed.delete("i = 1")
    with pytest.raises(UnsupportedFeatureError, match="bit 40"):
        changed.update({"i": "0"}, "i = 1")


@pytest.mark.parametrize(
    ("first", "second", "ending"),
    [(4999, 0, "arrow"), (5000, 0, "bin"), (1, 4999, "arrow"), (1, 5000, "bin")],
)
def test_many_deletions_are_kept_as_a_bitmap(
    uri: str, first: int, second: int, ending: str
) -> None:
    dataset = lance.write_dataset(pa.table({"i": np.arange(20_000)}), uri)
    dataset.delete(f"i < {first}")
    if second:
        dataset.delete(f"i < {first + second}")
    path = dataset.get_fragments()[0].deletion_file()
    assert path is not None
    assert path.endswith(ending)
    assert numbers(dataset) == list(range(first + second, 20_000))


def test_deletions_of_several_deletes_add_up(dataset: lance.LanceDataset) -> None:
    left = set(range(100))
    for step in (7, 5, 3, 2):
        gone = {n for n in left if n % step == 0}
        assert dataset.delete(f"i % {step} = 0") == {"num_deleted_rows": len(gone)}
        left -= gone
        assert numbers(dataset) == sorted(left)
    dataset.validate()


@settings(max_examples=30)
@given(st.lists(st.sets(st.integers(0, 39), max_size=20), max_size=5))
def test_any_sequence_of_deletes_leaves_what_sets_leave(steps: list[set[int]]) -> None:
    uri = f"memory://deletes/{id(steps)}"
    table = pa.table({"i": range(40)})
    dataset = lance.write_dataset(table, uri, max_rows_per_file=7, mode="overwrite")
    left = set(range(40))
    for gone in steps:
        assert dataset.delete(pc.field("i").isin(sorted(gone)))["num_deleted_rows"] == len(
            left & gone
        )
        left -= gone
        assert numbers(dataset) == sorted(left)
        assert dataset.count_rows() == len(left)


def test_stable_row_ids_stay_as_they_are(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(
        some_rows(20), uri, max_rows_per_file=10, enable_stable_row_ids=True
    )
    before = [fragment.metadata.row_id_meta for fragment in dataset.get_fragments()]
    dataset.delete("i IN (2, 3, 15)")
    assert [fragment.metadata.row_id_meta for fragment in dataset.get_fragments()] == before
    ids = dataset.to_table(["i"], with_row_id=True)
    assert ids["_rowid"].to_pylist() == ids["i"].to_pylist()
    assert dataset.delete("_rowid = 7") == {"num_deleted_rows": 1}


def test_rows_of_a_table_that_counts_none_are_deleted(dataset: lance.LanceDataset) -> None:
    """Tables of 0.8 and earlier record no counts."""

    def forget(manifest: table_pb2.Manifest) -> None:
        for fragment in manifest.fragments:
            fragment.physical_rows = 0
            fragment.deletion_file.num_deleted_rows = 0

    dataset.delete("i % 30 = 0")
    dataset = edit_manifest(dataset, forget)
    other = lance.dataset(dataset.uri)
    assert dataset.delete("i < 2 OR i = 31") == {"num_deleted_rows": 2}
    assert other.delete("i < 3 OR i = 32") == {"num_deleted_rows": 2}
    assert numbers(other) == [n for n in range(3, 100) if n % 30 and n not in {31, 32}]


def test_a_table_without_rows_can_be_deleted_from(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(0), uri)
    assert dataset.delete("i = 1") == {"num_deleted_rows": 0}
    assert dataset.delete("true") == {"num_deleted_rows": 0}


# Other writers -----------------------------------------------------------------------------------


def test_disjoint_rows_of_one_fragment_are_deleted_by_two_that_read_the_same_version(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    assert dataset.delete("i < 3") == {"num_deleted_rows": 3}
    assert other.delete("i >= 27 AND i < 33") == {"num_deleted_rows": 6}
    assert other.version == 3
    assert numbers(other) == [*range(3, 27), *range(33, 100)]
    named = {fragment.deletion_file() for fragment in other.get_fragments()}
    first = dataset.get_fragments()[0].deletion_file()
    kept = {f"_deletions/{name}" for name in deletion_files(uri)}
    assert kept <= named | {first}, "a file that was merged away is left behind"


def test_of_a_fragment_that_has_no_rows_left_after_both_no_file_is_left_behind(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    dataset.delete("i < 20")
    before = deletion_files(uri)
    assert other.delete("i >= 20 AND i < 30") == {"num_deleted_rows": 10}
    assert numbers(other) == list(range(30, 100))
    assert deletion_files(uri) == before


def test_what_an_attempt_merged_that_came_too_late_is_removed(
    dataset: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = lance.dataset(uri)
    dataset.delete("i = 1")
    send, pending = PutIfAbsentCommitHandler.commit, ["i = 2"]

    def overtaken(handler: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
        while pending:
            lance.dataset(uri).delete(pending.pop())
        return send(handler, candidate)

    monkeypatch.setattr(PutIfAbsentCommitHandler, "commit", overtaken)
    other.delete("i = 3")
    assert other.version == 4
    versions = [lance.dataset(uri, version=number) for number in (2, 3, 4)]
    named = {version.get_fragments()[0].deletion_file() for version in versions}
    assert {f"_deletions/{name}" for name in deletion_files(uri)} == named


def test_rows_that_another_has_deleted_meanwhile_are_counted_once(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    assert dataset.delete("i < 10") == {"num_deleted_rows": 10}
    assert other.delete("i < 15") == {"num_deleted_rows": 5}
    assert numbers(other) == list(range(15, 100))


def test_a_fragment_that_another_has_removed_meanwhile_is_no_obstacle(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other, third = lance.dataset(uri), lance.dataset(uri)
    dataset.delete("i < 30")
    assert other.delete("i < 40") == {"num_deleted_rows": 10}
    assert third.delete("true") == {"num_deleted_rows": 60}
    assert third.count_rows() == 0


def test_rows_appended_meanwhile_stay(
    dataset: lance.LanceDataset, uri: str, some_rows: Rows
) -> None:
    other = lance.dataset(uri)
    lance.write_dataset(some_rows(5, 100), uri, mode="append")
    assert other.delete("true") == {"num_deleted_rows": 100}
    assert numbers(other) == list(range(100, 105))


def test_an_overwrite_meanwhile_refuses_the_delete_and_nothing_is_left_of_it(
    dataset: lance.LanceDataset, uri: str, some_rows: Rows
) -> None:
    other = lance.dataset(uri)
    lance.write_dataset(some_rows(5), uri, mode="overwrite")
    with pytest.raises(CommitConflictError):
        other.delete("i = 1")
    assert not deletion_files(uri)
    assert lance.dataset(uri).version == 2
    assert other.version == 1


def test_an_unknown_outcome_keeps_the_files(
    dataset: lance.LanceDataset, uri: str, lose_outcomes: Callable[[], None]
) -> None:
    lose_outcomes()
    with pytest.raises(CommitUnknownError):
        dataset.delete("i = 1")
    assert len(deletion_files(uri)) == 1
    assert dataset.version == 1


def test_a_deletion_file_that_cannot_be_written_takes_the_others_along(
    dataset: lance.LanceDataset, uri: str
) -> None:
    faulty = FaultyStore(
        dataset.snapshot.root.store, [FaultRule(Refused(), "put", "_deletions/3*")]
    )
    root = dataclasses.replace(dataset.snapshot.root, store=faulty)
    snapshot = Snapshot(root, dataset.snapshot.file, dataset.snapshot.location)
    with pytest.raises(StoreError):
        delete(snapshot, "i % 10 = 0", ConflictRetries(0, 1.0))
    assert not deletion_files(uri)
    assert dataset.latest_version == 1


class FailingToTidy(StoreWrapper):
    """Deletes of deletion files fail as no store should."""

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        if call.method == "delete" and call.path.startswith("_deletions/"):
            raise ZeroDivisionError
        return run()


def test_a_committed_delete_succeeds_however_tidying_up_fails(
    dataset: lance.LanceDataset, uri: str
) -> None:
    lance.dataset(uri).delete("i = 2")
    store = FailingToTidy(dataset.snapshot.root.store)
    root = dataclasses.replace(dataset.snapshot.root, store=store)
    snapshot = Snapshot(root, dataset.snapshot.file, dataset.snapshot.location)
    made, _ = delete(snapshot, "i = 1", ConflictRetries(0, 1.0))
    assert made.version == lance.dataset(uri).version == 3


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Commits always meet another writer; what the delete waits, in seconds."""

    def busy(*_: object) -> None:
        raise RetryableCommitConflictError("busy")

    monkeypatch.setattr(discarding, "commit", busy)
    return []


def patient(waits: list[float]) -> Environment:
    """A world whose time passes only by waiting."""
    return Environment(monotonic=lambda: sum(waits), sleep=waits.append, random=lambda: 1.0)


def test_a_delete_gives_up_after_so_many_retries_with_growing_pauses(
    dataset: lance.LanceDataset, uri: str, waits: list[float]
) -> None:
    with pytest.raises(RetryableCommitConflictError, match="after 4 attempts: busy"):
        delete(dataset.snapshot, "i = 1", ConflictRetries(3, 30.0), patient(waits))
    assert waits == [0.001, 0.002, 0.004]
    assert not deletion_files(uri)


def test_a_delete_gives_up_when_its_time_is_over(
    dataset: lance.LanceDataset, waits: list[float]
) -> None:
    with pytest.raises(RetryableCommitConflictError, match="busy"):
        delete(dataset.snapshot, "i = 1", ConflictRetries(1_000_000, 2.0), patient(waits))
    assert 1.0 < sum(waits) < 2.0


@pytest.mark.parametrize("place", ["memory", "file"])
def test_threads_that_delete_rows_of_one_fragment_all_succeed(uri: str, place: str) -> None:
    target = uri if place == "file" else "memory://threads/deletes"
    threads, each = 8, 5
    lance.write_dataset(pa.table({"i": range(1000)}), target, mode="overwrite")
    barrier = Barrier(threads)

    def work(thread: int) -> int:
        mine = lance.dataset(target)
        barrier.wait()
        return sum(
            mine.delete(f"i = {thread * each + number}")["num_deleted_rows"]
            for number in range(each)
        )

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(work, range(threads))) == [each] * threads
    dataset = lance.dataset(target)
    assert numbers(dataset) == list(range(threads * each, 1000))
    assert dataset.version == 1 + threads * each
    dataset.validate()


# Fragments ---------------------------------------------------------------------------------------


def test_a_fragments_deletions_can_be_committed_later(
    dataset: lance.LanceDataset, uri: str
) -> None:
    first, second, third, last = dataset.get_fragments()
    metadata = first.delete("i < 10")
    assert metadata is not None
    assert (metadata.num_deletions, metadata.num_rows) == (10, 20)
    assert second.delete("i >= 30") is None
    unchanged = third.delete("i > 1000")
    assert unchanged == third.metadata
    assert last.delete_rows([0, 0, 9]).num_deletions == 2  # type: ignore[union-attr]
    assert dataset.latest_version == 1
    operation = Delete((metadata.to_fragment(),), (second.fragment_id,), "by fragments")
    made = lance.LanceDataset.commit(uri, lance.LanceOperation.Stored(operation), 1)
    assert numbers(made) == [*range(10, 30), *range(60, 100)]


def test_rows_of_a_fragment_are_deleted_by_their_physical_offsets(
    dataset: lance.LanceDataset,
) -> None:
    dataset = delete_rows(dataset, {0: [0, 1]})
    fragment = dataset.get_fragments()[0]
    metadata = fragment.delete_rows([1, 2])
    assert metadata is not None
    assert metadata.num_deletions == 3
    assert fragment.delete_rows([0, 1]) == fragment.metadata
    assert fragment.delete_rows([]) == fragment.metadata
    assert fragment.delete_rows(np.arange(2, 30)) is None


@pytest.mark.parametrize("offsets", [[30], [-1], ["x"], [1.5, None], [1 << 70], 5, np.array([0.5])])
def test_offsets_that_are_no_rows_are_refused(
    dataset: lance.LanceDataset, uri: str, offsets: object
) -> None:
    with pytest.raises(InvalidInputError):
        dataset.get_fragments()[0].delete_rows(offsets)  # type: ignore[arg-type]  # on purpose
    assert not deletion_files(uri)


# Branches and clones -----------------------------------------------------------------------------


def test_deletes_on_a_branch_are_written_there_and_leave_the_table_alone(
    dataset: lance.LanceDataset, uri: str
) -> None:
    dataset.delete("i < 5")
    branch = dataset.create_branch("try")
    other = branch.checkout_version(("try", None))
    files = deletion_files(uri)
    assert branch.delete("i < 8") == {"num_deleted_rows": 3}
    assert other.delete("i < 10") == {"num_deleted_rows": 2}
    assert other.delete("i = 20 OR i = 40") == {"num_deleted_rows": 2}
    assert numbers(other) == [n for n in range(10, 100) if n not in {20, 40}]
    assert all(
        fragment.metadata.deletion_file.base_id is None
        for fragment in other.get_fragments()
        if fragment.metadata.deletion_file is not None
    )
    assert deletion_files(uri) == files
    assert numbers(lance.dataset(uri)) == list(range(5, 100))


def test_two_that_delete_disjoint_rows_of_a_clone_are_merged(
    dataset: lance.LanceDataset, uri: str, tmp_path: Path
) -> None:
    dataset.delete("i < 5")
    place = str(tmp_path / "clone")
    one = dataset.shallow_clone(place, dataset.version)
    two = lance.dataset(place, allow_base_paths="yes")
    assert one.delete("i = 10") == {"num_deleted_rows": 1}
    assert two.delete("i = 11") == {"num_deleted_rows": 1}
    assert two.delete("i >= 90") == {"num_deleted_rows": 10}
    assert numbers(two) == [n for n in range(5, 90) if n not in {10, 11}]
    assert numbers(lance.dataset(uri)) == list(range(5, 100))
