"""Commits: of several writers, of files written elsewhere, and what they leave in the table."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import discard_on_failure as discarding
from lance_core.dataset.write.commit import options_of
from lance_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    CorruptFileError,
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    PluginNotFoundError,
    RetryableCommitConflictError,
)
from lance_core.fragment import write_fragments
from lance_core.plugins.handler_choice import MARKER
from lance_core.store.base import PutMode
from lance_core.store.local import LocalStore
from lance_core.table.paths import manifest_path
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused, ResponseLost
from tests.table_surgery import edit_manifest

Rows = Callable[..., pa.Table]


def data_files(uri: str) -> set[str]:
    return {path.name for path in Path(uri, "data").iterdir()}


def referenced(uri: str) -> set[str]:
    """The data files of all versions."""
    dataset = lance.dataset(uri)
    return {
        file.path
        for version in dataset.versions()
        for fragment in dataset.checkout_version(version["version"]).get_fragments()
        for file in fragment.data_files()
    }


def test_appends_of_two_handles_are_both_kept(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(2), uri)
    one, other = lance.dataset(uri), lance.dataset(uri)
    one.insert(some_rows(3, 2))
    other.insert(some_rows(4, 5))
    assert (one.version, other.version) == (2, 3)
    assert other.to_table().equals(some_rows(9))
    assert [fragment.fragment_id for fragment in other.get_fragments()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("overwrite", "append", CommitConflictError),
        ("overwrite", "overwrite", RetryableCommitConflictError),
        ("append", "overwrite", None),
        ("append", "append", None),
    ],
)
def test_a_write_is_checked_against_what_came_after_its_version(
    uri: str, some_rows: Rows, first: str, second: str, error: type[Exception] | None
) -> None:
    lance.write_dataset(some_rows(2), uri)
    stale = lance.dataset(uri)
    lance.write_dataset(some_rows(3), uri, mode=first)
    transactions = len(list(Path(uri, "_transactions").iterdir()))
    if error is None:
        stale.insert(some_rows(1), mode=second)
        assert stale.version == 3
        assert stale.count_rows() == (1 if second == "overwrite" else 6)
    else:
        with pytest.raises(error):
            stale.insert(some_rows(1), mode=second)
        assert (stale.version, lance.dataset(uri).version) == (1, 2)
        assert len(list(Path(uri, "_transactions").iterdir())) == transactions
    assert data_files(uri) == referenced(uri)


def test_a_write_to_a_place_is_based_on_the_newest_version(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(2), uri)
    lance.write_dataset({"z": [1]}, uri, mode="overwrite")
    assert lance.write_dataset({"z": [2]}, uri, mode="append").count_rows() == 2


def race(uri: str, monkeypatch: pytest.MonkeyPatch, winner: Callable[[], object]) -> None:
    """Let ``winner`` run after the next write has written its files and before it commits."""
    real = discarding.commit

    def late(*arguments: Any) -> Snapshot:
        monkeypatch.setattr(discarding, "commit", real)
        winner()
        return real(*arguments)

    monkeypatch.setattr(discarding, "commit", late)


def test_one_of_two_that_create_a_table_loses(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    race(uri, monkeypatch, lambda: lance.write_dataset(some_rows(2), uri))
    with pytest.raises(DatasetExistsError):
        lance.write_dataset(some_rows(5), uri)
    assert lance.dataset(uri).to_table().equals(some_rows(2))
    assert data_files(uri) == referenced(uri)


def test_an_append_that_would_have_created_a_table_is_added_to_it(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    race(uri, monkeypatch, lambda: lance.write_dataset(some_rows(2), uri))
    dataset = lance.write_dataset(some_rows(3, 2), uri, mode="append")
    assert (dataset.version, dataset.to_table()) == (2, some_rows(5))
    wider = {"i": [5], "more": ["x"]}
    race(uri + "2", monkeypatch, lambda: lance.write_dataset(wider, uri + "2"))
    dataset = lance.write_dataset({"i": [6]}, uri + "2", mode="append")
    assert dataset.to_table().to_pydict() == {"i": [5, 6], "more": ["x", None]}


def test_an_overwrite_that_would_have_created_a_table_can_be_tried_again(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    race(uri, monkeypatch, lambda: lance.write_dataset(some_rows(2), uri))
    with pytest.raises(RetryableCommitConflictError):
        lance.write_dataset({"z": [2]}, uri, mode="overwrite")
    assert lance.dataset(uri).to_table().equals(some_rows(2))
    assert data_files(uri) == referenced(uri)


@pytest.mark.parametrize("made", [{"z": [1]}, {"b": ["x"], "a": [1]}, {"a": [1]}])
def test_an_append_does_not_fit_a_table_that_was_made_otherwise(
    uri: str, monkeypatch: pytest.MonkeyPatch, made: dict[str, Any]
) -> None:
    race(uri, monkeypatch, lambda: lance.write_dataset(made, uri))
    with pytest.raises((RetryableCommitConflictError, InvalidInputError)):
        lance.write_dataset({"a": [2], "b": ["y"]}, uri, mode="append")
    assert lance.dataset(uri).to_table().to_pydict() == made
    assert data_files(uri) == referenced(uri)


def test_many_threads_that_create_a_table_make_one(uri: str, some_rows: Rows) -> None:
    results: list[object] = []
    barrier = threading.Barrier(8)

    def create(number: int) -> None:
        barrier.wait()
        try:
            results.append(lance.write_dataset(some_rows(number + 1), uri).count_rows())
        except LanceError as error:
            results.append(type(error))

    threads = [threading.Thread(target=create, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (count,) = [result for result in results if isinstance(result, int)]
    assert results.count(DatasetExistsError) == 7
    assert lance.dataset(uri).count_rows() == count
    assert data_files(uri) == referenced(uri)


def with_faults(dataset: lance.LanceDataset, *rules: FaultRule) -> lance.LanceDataset:
    """The same table through a store that fails."""
    snapshot = dataset.snapshot
    store = FaultyStore(snapshot.root.store, rules)
    root = dataclasses.replace(snapshot.root, store=store, handler=PutIfAbsentCommitHandler(store))
    return lance.LanceDataset.of(Snapshot(root, snapshot.file, snapshot.location))


@pytest.mark.parametrize("path", ["data/*", "_transactions/*", "_versions/*"])
def test_a_store_that_refuses_leaves_the_table_as_it_was(
    uri: str, some_rows: Rows, path: str
) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    method = "close" if path == "data/*" else "put"
    failing = with_faults(dataset, FaultRule(Refused(), method, path))
    with pytest.raises((CommitError, OSError)):
        failing.insert(some_rows(3))
    assert lance.dataset(uri).version == 1
    assert data_files(uri) == referenced(uri)


def test_files_of_a_commit_of_unknown_outcome_are_kept(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    failing = with_faults(
        dataset,
        FaultRule(ResponseLost(), "put", "_versions/*"),
        FaultRule(Refused(), "get*", f"*/{2**64 - 3}.manifest"),
    )
    with pytest.raises(CommitUnknownError):
        failing.insert(some_rows(3, 2))
    # It was applied after all, and nothing of it is missing.
    assert lance.dataset(uri).to_table().equals(some_rows(5))


def test_a_lost_answer_is_no_error(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    failing = with_faults(dataset, FaultRule(ResponseLost(), "put", "_versions/*", times=1))
    failing.insert(some_rows(3, 2))
    assert (failing.version, lance.dataset(uri).version) == (2, 2)
    assert failing.to_table().equals(some_rows(5))


def test_fragments_of_several_writers_make_one_version(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    parts = [write_fragments(some_rows(5, 2 + 5 * n), dataset, max_rows_per_file=2) for n in (0, 1)]
    assert lance.dataset(uri).version == 1
    assert all(fragment.id == 0 for part in parts for fragment in part)
    operation = lance.LanceOperation.Append([*parts[0], *parts[1]])
    made = lance.LanceDataset.commit(uri, operation, read_version=1)
    assert (made.version, made.to_table()) == (2, some_rows(12))
    assert [fragment.fragment_id for fragment in made.get_fragments()] == list(range(7))


def test_a_table_is_created_from_fragments(uri: str, some_rows: Rows) -> None:
    fragments = write_fragments(some_rows(5), uri, max_rows_per_file=2)
    with pytest.raises(DatasetNotFoundError):
        lance.dataset(uri)
    operation = lance.LanceOperation.Overwrite(some_rows(1).schema, fragments)
    made = lance.LanceDataset.commit(uri, operation)
    assert (made.version, made.to_table()) == (1, some_rows(5))
    fragments = write_fragments({"z": [1]}, uri, mode="overwrite")
    operation = lance.LanceOperation.Overwrite(pa.schema({"z": pa.int64()}), fragments)
    made = lance.LanceDataset.commit(uri, operation)
    assert (made.version, made.to_table().to_pydict()) == (2, {"z": [1]})


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_a_transaction_knows_its_version_and_is_committed_once(
    uri: str, some_rows: Rows, mode: str
) -> None:
    if mode != "create":
        lance.write_dataset(some_rows(2), uri)
    transaction = write_fragments(some_rows(3, 2), uri, mode=mode, return_transaction=True)
    assert isinstance(transaction, lance.Transaction)
    assert transaction.read_version == (0 if mode == "create" else 1)
    made = lance.LanceDataset.commit(uri, transaction)
    again = lance.LanceDataset.commit(uri, transaction)
    assert made.version == again.version == lance.dataset(uri).version
    assert again.count_rows() == (5 if mode == "append" else 3)
    assert transaction.transaction_properties == {}


def test_two_changes_of_one_transaction_id_are_not_one(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(2), uri)
    one = write_fragments(some_rows(3), uri, return_transaction=True)
    other = write_fragments(some_rows(4), uri, return_transaction=True)
    assert isinstance(one, lance.Transaction)
    assert isinstance(other, lance.Transaction)
    other.uuid = one.uuid
    lance.LanceDataset.commit(uri, one)
    with pytest.raises(CommitConflictError, match="same transaction id"):
        lance.LanceDataset.commit(uri, other)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, InvalidInputError),
        ({"read_version": 7}, CommitConflictError),
        ({"read_version": 1, "max_retries": -1}, InvalidInputError),
        ({"read_version": 1, "max_retries": "1"}, InvalidInputError),
        ({"read_version": 1, "commit_timeout": 5}, InvalidInputError),
        ({"read_version": 1, "commit_timeout": timedelta(0)}, InvalidInputError),
        ({"read_version": 1, "commit_message": 5}, InvalidInputError),
        ({"read_version": 1, "table_id": ["t"]}, InvalidInputError),
        ({"read_version": 1, "commit_lock": 5}, TypeError),
        ({"read_version": 1, "nonsense": 5}, TypeError),
    ],
)
def test_commits_that_make_no_sense_are_refused(
    uri: str, some_rows: Rows, arguments: dict[str, Any], error: type[Exception]
) -> None:
    lance.write_dataset(some_rows(2), uri)
    operation = lance.LanceOperation.Append([])
    with pytest.raises(error):
        lance.LanceDataset.commit(uri, operation, **arguments)
    assert lance.dataset(uri).version == 1


def test_options_of_a_commit_are_honoured(uri: str, some_rows: Rows) -> None:
    fragments = write_fragments(some_rows(3), uri)
    made = lance.LanceDataset.commit(
        uri,
        lance.LanceOperation.Overwrite(some_rows(1).schema, fragments),
        enable_v2_manifest_paths=False,
        enable_stable_row_ids=True,
        max_retries=0,
        commit_timeout=None,
        commit_message="first",
        detached=False,
    )
    assert made.has_stable_row_ids
    assert Path(uri, "_versions", "1.manifest").is_file()
    transaction = made.read_transaction(1)
    assert transaction is not None
    assert transaction.transaction_properties == {"__lance_commit_message": "first"}


def test_a_detached_version_that_is_open_is_not_what_others_are_checked_against(
    uri: str, some_rows: Rows
) -> None:
    made = lance.write_dataset(some_rows(2), uri)
    append = lance.LanceOperation.Append([])
    beside = lance.LanceDataset.commit(made, append, read_version=1, detached=True)
    assert lance.LanceDataset.commit(beside, append, read_version=1).version == 2


def test_what_was_open_when_the_table_was_made_anew_is_not_restored(
    uri: str, some_rows: Rows
) -> None:
    before = lance.write_dataset(some_rows(2), uri)
    lance.LanceDataset.drop(uri)
    assert not Path(uri).exists()
    lance.write_dataset(some_rows(3), uri)
    with pytest.raises(CommitConflictError, match="open it again"):
        before.restore()
    assert lance.dataset(uri).version == 1


def test_a_commit_takes_operations_only(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    with pytest.raises(TypeError, match="operation"):
        lance.LanceDataset.commit(dataset, "x", 1)
    transaction = lance.Transaction(1, lance.LanceOperation.Append([]))
    with pytest.raises(InvalidInputError, match="commit_message"):
        lance.LanceDataset.commit(dataset, transaction, commit_message="x")


def test_an_append_needs_a_table(uri: str) -> None:
    with pytest.raises(DatasetNotFoundError):
        lance.LanceDataset.commit(uri, lance.LanceOperation.Append([]), read_version=1)
    assert not Path(uri, "_versions").exists()


@pytest.mark.parametrize("v2", [True, False])
def test_manifests_keep_the_names_that_the_table_has(uri: str, some_rows: Rows, v2: bool) -> None:
    lance.write_dataset(some_rows(1), uri, enable_v2_manifest_paths=v2)
    for number in range(1, 11):
        other = not v2
        lance.write_dataset(some_rows(1), uri, mode="append", enable_v2_manifest_paths=other)
        assert lance.dataset(uri).version == number + 1
    names = {path.stem for path in Path(uri, "_versions").glob("*.manifest")}
    top = 2**64 - 1
    assert names == {f"{top - n:020}" if v2 else str(n) for n in range(1, 12)}
    assert lance.dataset(uri, version=3).count_rows() == 3


def test_two_naming_schemes_are_an_error(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(1), uri)
    data = next(Path(uri, "_versions").glob("*.manifest")).read_bytes()
    Path(uri, "_versions", "2.manifest").write_bytes(data)
    with pytest.raises(CorruptFileError, match="two schemes"):
        lance.dataset(uri)


def test_transactions_are_told_newest_first(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(1), uri, commit_message="one")
    properties = {"k": "v", "__lance_commit_message": "overruled"}
    dataset = lance.write_dataset(
        some_rows(1), uri, mode="append", transaction_properties=properties, commit_message="two"
    )
    found = dataset.get_transactions()
    assert [transaction.read_version for transaction in found if transaction] == [1, 0]
    assert found[0] == dataset.read_transaction(2)
    assert found[0] is not None
    assert found[0].transaction_properties == {"k": "v", "__lance_commit_message": "two"}
    assert dataset.get_transactions(1) == found[:1]
    assert dataset.get_transactions(0) == []
    assert lance.dataset(uri, version=1).get_transactions() == found[1:]
    with pytest.raises(DatasetNotFoundError):
        dataset.read_transaction(3)
    with pytest.raises(InvalidInputError):
        dataset.get_transactions(-1)


def test_a_transaction_is_in_the_manifest_and_in_a_file(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(1), uri)
    expected = dataset.read_transaction(1)
    (file,) = Path(uri, "_transactions").iterdir()
    content = file.read_bytes()
    file.unlink()
    assert dataset.read_transaction(1) == expected
    edit_manifest(dataset, lambda manifest: None)  # this drops the section
    assert dataset.read_transaction(1) is None
    file.write_bytes(content)
    assert dataset.read_transaction(1) == expected


def test_stable_row_ids_go_on_counting(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(3), uri, enable_stable_row_ids=True, max_rows_per_file=2)
    dataset = lance.write_dataset(some_rows(2), uri, mode="append")
    assert dataset.has_stable_row_ids
    found = dataset.to_table([], with_row_id=True, with_row_address=True)
    assert found["_rowid"].to_pylist() == [0, 1, 2, 3, 4]
    assert found["_rowaddr"].to_pylist() == [0, 1, 1 << 32, 2 << 32, (2 << 32) + 1]
    assert dataset.take([4, 2], ["_rowid"])["_rowid"].to_pylist() == [4, 2]
    assert dataset.count_rows("_rowid >= 3") == 2
    dataset = lance.write_dataset(some_rows(2), uri, mode="overwrite")
    assert dataset.to_table(["_rowid"])["_rowid"].to_pylist() == [5, 6]


def test_the_config_of_a_table_says_how_to_commit(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(1), uri)

    def mark(manifest: Any, handler: str) -> None:
        manifest.config[MARKER] = handler

    dataset = edit_manifest(dataset, lambda manifest: mark(manifest, "rename"))
    for version in (None, 1):
        found = lance.dataset(uri, version)
        assert isinstance(found.snapshot.root.handler, RenameCommitHandler)
    dataset = lance.write_dataset(some_rows(1), uri, mode="append")
    assert isinstance(dataset.snapshot.root.handler, RenameCommitHandler)
    assert (dataset.version, dataset.count_rows()) == (2, 2)
    append = lance.LanceOperation.Append([])
    for target in (uri, dataset):
        dataset = lance.LanceDataset.commit(target, append, read_version=dataset.version)
        assert isinstance(dataset.snapshot.root.handler, RenameCommitHandler)
    with pytest.warns(UserWarning, match="asks for the commit handler"):
        lance.dataset(uri, storage_options={"commit_handler": "put-if-absent"})
    with pytest.raises(PluginNotFoundError, match="of-some-plugin"):
        edit_manifest(dataset, lambda manifest: mark(manifest, "of-some-plugin"))


def test_nothing_else_is_in_a_table(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(1), uri)
    dataset.insert(some_rows(1))
    dataset.to_table()
    found = sorted(str(path.relative_to(uri).parent) for path in Path(uri).rglob("*.*"))
    assert found == ["_transactions"] * 2 + ["_versions"] * 2 + ["data"] * 2


def test_a_manifest_is_written_only_where_none_is(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(1), uri)
    store = dataset.snapshot.root.store
    with pytest.raises(LanceError):
        store.put(dataset.snapshot.location.path, b"x", PutMode.create)
    assert lance.dataset(uri).count_rows() == 1


# --- a change that is committed once -------------------------------------------------------------


JOB = {"job": "load", "run": "7"}


def is_job(properties: Mapping[str, str]) -> bool:
    return properties.items() >= JOB.items()


@pytest.mark.parametrize("mode", ["append", "overwrite", "create"])
def test_a_change_that_another_transaction_has_made_is_not_committed_again(
    uri: str, some_rows: Rows, mode: str
) -> None:
    if mode != "create":
        lance.write_dataset(some_rows(2), uri)
    first, second = (
        write_fragments(some_rows(3), uri, mode=mode, return_transaction=True) for _ in range(2)
    )
    assert isinstance(first, lance.Transaction)
    assert isinstance(second, lance.Transaction)
    first.transaction_properties = second.transaction_properties = JOB
    made = lance.LanceDataset.commit(uri, first, is_committed=is_job)
    lance.dataset(uri).update_config({"another": "version"})
    with pytest.raises(AlreadyCommittedError, match=f"version {made.version} already") as refused:
        lance.LanceDataset.commit(uri, second, is_committed=is_job)
    assert refused.value.version == made.version
    assert not refused.value.retryable
    assert lance.dataset(uri).version == made.version + 1


def test_the_transaction_itself_is_committed_without_an_error_again(
    uri: str, some_rows: Rows
) -> None:
    lance.write_dataset(some_rows(2), uri)
    write = write_fragments(some_rows(3), uri, mode="append", return_transaction=True)
    assert isinstance(write, lance.Transaction)
    write.transaction_properties = JOB
    versions = [lance.LanceDataset.commit(uri, write, is_committed=is_job).version for _ in "ab"]
    assert versions == [2, 2]


def test_a_merge_that_another_transaction_has_made_is_not_committed_again(
    uri: str, some_rows: Rows
) -> None:
    lance.write_dataset(some_rows(2), uri)
    first, second = lance.dataset(uri), lance.dataset(uri)
    for dataset in (first, second):
        merge = dataset.merge_insert(some_rows(1).column_names[0])
        merge.when_matched_update_all().when_not_matched_insert_all()
        merge.transaction_properties(JOB, is_job)
        if dataset is first:
            merge.execute(some_rows(3))
            continue
        with pytest.raises(AlreadyCommittedError):
            merge.execute(some_rows(3))
    assert lance.dataset(uri).latest_version == first.version == 2
    assert data_files(uri) == referenced(uri)


def test_a_check_of_a_change_must_be_a_function(uri: str, some_rows: Rows) -> None:
    made = lance.write_dataset(some_rows(2), uri)
    operation = lance.LanceOperation.Restore(1)
    with pytest.raises(InvalidInputError, match="is_committed must be a function"):
        lance.LanceDataset.commit(made, operation, is_committed=JOB)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_an_overwrite_without_retries_must_follow_the_version_that_it_read(
    uri: str, some_rows: Rows, mode: str
) -> None:
    lance.write_dataset(some_rows(2), uri)
    operation = lance.LanceOperation.Overwrite(
        some_rows(3).schema, write_fragments(some_rows(3), uri)
    )
    lance.write_dataset(some_rows(4), uri, mode=mode)
    with pytest.raises(CommitConflictError, match="Commit conflict for version 2"):
        lance.LanceDataset.commit(uri, operation, read_version=1, max_retries=0)
    assert lance.dataset(uri).version == 2
    assert lance.LanceDataset.commit(uri, operation, read_version=2, max_retries=0).version == 3


def test_arguments_that_are_not_given_have_the_defaults_of_commits() -> None:
    options, properties = options_of({})
    assert (options, properties) == (CommitOptions(), {})
    unlimited, _ = options_of({"commit_timeout": None, "max_retries": None})
    assert unlimited == dataclasses.replace(options, timeout=math.inf)


def test_the_last_transactions_of_many_versions_are_read_without_a_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(pa.table({"i": [1]}), tmp_path / "t.lance")
    for number in range(6):
        dataset.update_config({"number": str(number)})
    expected = dataset.get_transactions(3)
    listed: list[str] = []
    walk = LocalStore.list
    monkeypatch.setattr(LocalStore, "list", lambda *a: (listed.append(a[1]), walk(*a))[1])
    assert dataset.get_transactions(3) == expected
    assert listed == []
    (tmp_path / "t.lance" / manifest_path(6)).unlink()
    assert dataset.get_transactions(3) == [expected[0], expected[2], dataset.read_transaction(4)]
