"""Branches: lines of versions of their own within a table."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    CommitUnknownError,
    DatasetNotFoundError,
    InvalidRefError,
    LanceError,
    OutcomeUnknownError,
    RefConflictError,
    RefNotFoundError,
    StoreError,
)
from lance_core.store.local import LocalStore
from tests.table_surgery import delete_rows


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def content(dataset: lance.LanceDataset) -> list[int]:
    values: list[int] = dataset.to_table()["x"].to_pylist()
    return values


@pytest.fixture
def table(uri: str) -> lance.LanceDataset:
    lance.write_dataset(rows(1, 2, 3), uri)
    return lance.write_dataset(rows(4), uri, mode="append")


def test_a_branch_begins_with_a_version_of_its_parent(table: lance.LanceDataset) -> None:
    branch = table.create_branch("b", 1)
    assert (branch.uri, branch.version, content(branch)) == (f"{table.uri}/tree/b", 1, [1, 2, 3])
    assert branch.version_refs() == [{"version": 1}]
    (base,) = branch.base_paths().values()
    assert (base.id, base.path, base.is_dataset_root) == (0, table.uri, True)
    assert not Path(table.uri, "tree", "b", "data").exists()
    (known,) = table.branches.list().values()
    assert (known["parent_branch"], known["parent_version"]) == (None, 1)
    ((version, step),) = known["branch_identifier"]
    assert version == 1
    assert len(bytes.fromhex(step)) == 16


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, (2, [1, 2, 3, 4])),
        (1, (1, [1, 2, 3])),
        ("first", (1, [1, 2, 3])),
        ((None, 1), (1, [1, 2, 3])),
        (("main", None), (2, [1, 2, 3, 4])),
        (("a", None), (3, [1, 2, 3, 4, 5])),
        (("a", 2), (2, [1, 2, 3, 4])),
    ],
)
def test_a_branch_begins_where_the_reference_says(
    table: lance.LanceDataset, reference: Any, expected: tuple[int, list[int]]
) -> None:
    table.tags.create("first", 1)
    lance.write_dataset(rows(5), table.create_branch("a"), mode="append")
    branch = table.create_branch("b", reference)
    assert (branch.version, content(branch)) == expected
    assert branch.branches.list()["b"]["parent_version"] == expected[0]


def test_branches_and_main_go_separate_ways(table: lance.LanceDataset) -> None:
    branch = table.create_branch("b")
    branch = lance.write_dataset(rows(5), branch, mode="append")
    lance.write_dataset(rows(6), table.uri, mode="append")
    delete_rows(branch, {0: [0]})
    assert content(lance.dataset(table.uri)) == [1, 2, 3, 4, 6]
    assert content(lance.dataset(branch.uri)) == [2, 3, 4, 5]
    written = list(Path(branch.uri, "data").iterdir())
    assert len(written) == 1
    assert len(list(Path(table.uri, "data").iterdir())) == 3
    branch = lance.write_dataset(rows(7), branch.uri, mode="overwrite")
    assert content(branch) == [7]
    assert branch.checkout_version(3).count_rows() == 5


def test_checking_out_goes_between_branches(table: lance.LanceDataset) -> None:
    branch = lance.write_dataset(rows(5), table.create_branch("x/y"), mode="append")
    there = table.checkout_version(("x/y", None))
    assert (there.uri, there.version, content(there)) == (branch.uri, 3, [1, 2, 3, 4, 5])
    assert table.checkout_version(("x/y", 2)).count_rows() == 4
    back = there.checkout_version((None, None))
    assert (back.uri, back.version) == (table.uri, 2)
    assert there.checkout_version(("main", 1)).count_rows() == 3
    assert there.checkout_version(2).uri == branch.uri
    by_uri = lance.dataset(branch.uri)
    assert by_uri.checkout_version((None, 1)).uri == table.uri
    assert by_uri.checkout_version(("x/y", 3)).count_rows() == 5
    assert lance.dataset(table.uri, version=("x/y", 3)).count_rows() == 5
    lance.write_dataset(rows(6), branch.uri, mode="append")
    there.checkout_latest()
    assert (there.version, content(there)) == (4, [1, 2, 3, 4, 5, 6])


def test_branches_of_a_relative_path_are_found_from_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = lance.write_dataset(pa.table({"i": [1]}), "t")
    dataset.create_branch("side")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert dataset.checkout_version(("side", None)).count_rows() == 1


def test_a_branch_of_a_branch_reads_files_of_both(table: lance.LanceDataset) -> None:
    first = lance.write_dataset(rows(5), table.create_branch("a"), mode="append")
    first = delete_rows(first, {0: [1]})
    second = lance.write_dataset(rows(6), first.create_branch("a/b"), mode="append")
    assert content(second) == [1, 3, 4, 5, 6]
    paths = {base.path for base in second.base_paths().values()}
    assert paths == {table.uri, first.uri}
    assert [v for v, _ in second.branches.list()["a/b"]["branch_identifier"]] == [2, 4]
    assert second.branches.list()["a/b"]["parent_branch"] == "a"
    for reopened in (lance.dataset(second.uri), pickle.loads(pickle.dumps(second))):
        assert content(reopened) == [1, 3, 4, 5, 6]
        reopened.validate()


def test_files_of_the_same_name_on_two_branches_are_told_apart(table: lance.LanceDataset) -> None:
    one = table.create_branch("one")
    two = table.create_branch("two")
    for branch, offset in ((one, 0), (two, 1)):
        delete_rows(branch, {0: [offset]})
    opened = table.checkout_version(("one", None))
    assert content(opened) == [2, 3, 4]
    assert content(opened.checkout_version(("two", None))) == [1, 3, 4]
    assert content(opened.checkout_version((None, None))) == [1, 2, 3, 4]


def test_branches_are_ordered_by_where_they_began(table: lance.LanceDataset) -> None:
    for name, version in (("c", 1), ("b", 2), ("a", 1)):
        table.create_branch(name, version)
    assert [name for name, _ in table.branches.list_ordered()] == ["b", "a", "c"]
    assert [name for name, _ in table.branches.list_ordered("asc")] == ["a", "c", "b"]


def test_metadata_of_a_branch_is_replaced(table: lance.LanceDataset) -> None:
    table.create_branch("b")
    table.branches.replace_metadata("b", {"owner": "me"})
    assert table.branches.list()["b"]["metadata"] == {"owner": "me"}
    with pytest.raises(RefNotFoundError):
        table.branches.replace_metadata("c", {})


def test_a_branch_exists_once(table: lance.LanceDataset) -> None:
    branch = table.create_branch("b")
    with pytest.raises(RefConflictError, match="already exists"):
        table.create_branch("b", 1)
    assert branch.version_refs() == [{"version": 2}]


@pytest.mark.parametrize("name", ["", "main", "a/../b", "a b", "/a", "a.lock", "é", "a/data", 5])
def test_what_is_no_name_makes_no_branch(table: lance.LanceDataset, name: Any) -> None:
    with pytest.raises(InvalidRefError):
        table.create_branch(name)
    assert not Path(table.uri, "tree").exists()


def test_nothing_begins_with_what_is_not_there(table: lance.LanceDataset) -> None:
    for reference in (99, ("a", None), ("a", 1)):
        with pytest.raises(DatasetNotFoundError):
            table.create_branch("b", reference)
    with pytest.raises(RefNotFoundError):
        table.create_branch("b", "tag")
    assert table.branches.list() == {}


def test_a_deleted_branch_leaves_nothing(table: lance.LanceDataset) -> None:
    branch = lance.write_dataset(rows(5), table.create_branch("b"), mode="append")
    table.branches.delete("b")
    assert table.branches.list() == {}
    with pytest.raises(DatasetNotFoundError):
        lance.dataset(branch.uri)
    assert content(lance.dataset(table.uri)) == [1, 2, 3, 4]
    assert not [path for path in Path(table.uri, "tree").rglob("*") if path.is_file()]
    assert content(table.create_branch("b", 1)) == [1, 2, 3]


def test_what_something_refers_to_is_not_deleted(table: lance.LanceDataset) -> None:
    table.create_branch("a").create_branch("b")
    table.tags.create("t", ("b", None))
    for name in ("a", "b"):
        with pytest.raises(RefConflictError, match="referenced"):
            table.branches.delete(name)
    table.tags.delete("t")
    table.branches.delete("b")
    table.branches.delete("a")
    for name, error in (("a", RefNotFoundError), ("main", InvalidRefError)):
        with pytest.raises(error):
            table.branches.delete(name)


def test_a_creation_that_fails_leaves_no_branch(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = LocalStore.put

    def fail(self: LocalStore, path: str, *args: Any) -> None:
        if path.endswith((".manifest", ".txn")):
            raise StoreError("the disk is full")
        put(self, path, *args)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", fail)
        with pytest.raises(LanceError):
            table.create_branch("b")
    assert table.branches.list() == {}
    assert content(table.create_branch("b")) == [1, 2, 3, 4]


def test_a_creation_whose_outcome_is_unknown_keeps_its_name(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, get = LocalStore.put, LocalStore.get
    lost = []

    def lose(self: LocalStore, path: str, *args: Any) -> None:
        put(self, path, *args)
        if path.endswith(".manifest"):
            lost.append(path)
            raise OutcomeUnknownError("the answer was lost")

    def unreachable(self: LocalStore, path: str) -> pa.Buffer:
        if lost:
            raise StoreError("unreachable")
        return get(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", lose)
        patch.setattr(LocalStore, "get", unreachable)
        with pytest.raises(CommitUnknownError):
            table.create_branch("b")
    assert list(table.branches.list()) == ["b"]
    assert content(table.checkout_version(("b", None))) == [1, 2, 3, 4]


def test_versions_without_a_branch_are_in_the_way_until_removed(table: lance.LanceDataset) -> None:
    table.create_branch("b")
    table.snapshot.root.store.delete("_refs/branches/b.json")
    with pytest.raises(RefConflictError, match="force=True"):
        table.create_branch("b", 1)
    assert table.branches.list() == {}
    table.branches.delete("b", force=True)
    assert content(table.create_branch("b", 1)) == [1, 2, 3]


def test_a_recorded_branch_without_versions_can_be_deleted(table: lance.LanceDataset) -> None:
    stored = {"parentBranch": None, "parentVersion": 1, "createAt": 1, "manifestSize": 1}
    table.snapshot.root.store.put("_refs/branches/b.json", json.dumps(stored).encode())
    with pytest.raises(DatasetNotFoundError):
        table.checkout_version(("b", None))
    table.branches.delete("b")
    assert table.branches.list() == {}


def test_a_folder_that_is_a_link_is_no_branch(table: lance.LanceDataset, tmp_path: Path) -> None:
    other = lance.write_dataset(rows(9), str(tmp_path / "other"))
    Path(table.uri, "tree").mkdir()
    Path(table.uri, "tree", "b").symlink_to(other.uri)
    with pytest.raises(LanceError):
        lance.dataset(table.uri, version=("b", None)).to_table()
    assert content(lance.dataset(table.uri)) == [1, 2, 3, 4]


def test_a_table_in_memory_has_branches_too() -> None:
    uri = "memory://branches-in-memory/t"
    table = lance.write_dataset(rows(1), uri)
    branch = lance.write_dataset(rows(2), table.create_branch("b"), mode="append")
    assert (branch.uri, content(branch)) == (f"{uri}/tree/b", [1, 2])
    assert content(lance.dataset(uri, version=("b", None))) == [1, 2]
    assert content(lance.dataset(f"{uri}/tree/b")) == [1, 2]
