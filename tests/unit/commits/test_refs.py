"""Tags and branches in a store: one wins, lost answers, deletions that can be repeated."""

from __future__ import annotations

import dataclasses
import threading
import uuid

import pytest

from lance_core.commits import refs
from lance_core.commits.environment import Environment
from lance_core.commits.refs import RefTarget
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidRefError,
    OutcomeUnknownError,
    RefConflictError,
    RefNotFoundError,
)
from lance_core.store.base import Buffers, Guarantee, ObjectStore, PutMode, StoreCapabilities
from lance_core.store.functions import exists, list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from tests.each_case import each_case

NOW = 1_795_228_876_266_190_359
ID = uuid.UUID(int=5)
FIXED = Environment(clock=lambda: NOW, new_uuid=lambda: ID)


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


def test_a_tag_is_what_was_created(store: ObjectStore) -> None:
    made = refs.create_tag(store, "t", RefTarget(3, "b", 10), FIXED)
    assert refs.get_tag(store, "t") == made
    assert (made.version, made.branch, made.manifest_size) == (3, "b", 10)
    assert made.created_at_ns == made.updated_at_ns == NOW


def test_listings_are_in_the_order_of_names(store: ObjectStore) -> None:
    for name in ("b", "c", "a"):
        refs.create_tag(store, name, RefTarget(1))
        refs.create_branch(store, f"x/{name}", RefTarget(1))
    assert list(refs.list_tags(store)) == ["a", "b", "c"]
    assert list(refs.list_branches(store)) == ["x/a", "x/b", "x/c"]
    assert refs.list_tags(MemoryStore()) == {} == refs.list_branches(MemoryStore())


def test_a_name_is_given_once(store: ObjectStore) -> None:
    refs.create_tag(store, "t", RefTarget(1))
    refs.create_branch(store, "b", RefTarget(1))
    with pytest.raises(RefConflictError, match="tag t already exists"):
        refs.create_tag(store, "t", RefTarget(2))
    with pytest.raises(RefConflictError, match="branch b already exists"):
        refs.create_branch(store, "b", RefTarget(2))
    assert refs.get_tag(store, "t").version == 1


def test_one_of_many_creators_wins(store: ObjectStore) -> None:
    won = []

    def create(number: int) -> None:
        try:
            refs.create_tag(store, "t", RefTarget(number))
            won.append(number)
        except RefConflictError:
            pass

    threads = [threading.Thread(target=create, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [refs.get_tag(store, "t").version]


class _LosesAnswers(MemoryStore):
    """Every put is applied and then said to be unknown, or sent twice."""

    resends = False

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        if self.resends:
            super().put(path, data, mode)
        raise OutcomeUnknownError("the answer was lost")


@pytest.mark.parametrize("resends", [False, True])
def test_a_creation_whose_answer_was_lost_is_recognised(resends: bool) -> None:
    store = _LosesAnswers()
    store.resends = resends
    made = refs.create_tag(store, "t", RefTarget(1), FIXED)
    assert refs.get_tag(store, "t") == made


class _WithoutConditions(MemoryStore):
    @property
    def capabilities(self) -> StoreCapabilities:
        return dataclasses.replace(super().capabilities, put_if_absent=Guarantee.NO)

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        assert mode is PutMode.overwrite
        super().put(path, data, mode)


def test_stores_without_conditional_writes_are_looked_at_first() -> None:
    store = _WithoutConditions()
    refs.create_tag(store, "t", RefTarget(1))
    with pytest.raises(RefConflictError):
        refs.create_tag(store, "t", RefTarget(2))


def test_an_update_keeps_what_it_does_not_change(store: ObjectStore) -> None:
    refs.create_tag(store, "t", RefTarget(1), FIXED)
    refs.replace_tag_metadata(store, "t", {"a": "b"})
    later = dataclasses.replace(FIXED, clock=lambda: NOW + 5)
    refs.update_tag(store, "t", RefTarget(2, "b", 7), later)
    tag = refs.get_tag(store, "t")
    assert (tag.version, tag.branch, tag.manifest_size, tag.metadata) == (2, "b", 7, {"a": "b"})
    assert (tag.created_at_ns, tag.updated_at_ns) == (NOW, NOW + 5)


def test_a_branch_knows_its_way_from_main(store: ObjectStore) -> None:
    refs.create_branch(store, "a", RefTarget(2), FIXED)
    made = refs.create_branch(store, "a/b", RefTarget(5, "a", 9), FIXED)
    assert made.identifier == ((2, ID.hex), (5, ID.hex))
    assert (made.parent_branch, made.parent_version, made.created_at) == ("a", 5, NOW // 10**9)
    with pytest.raises(RefNotFoundError):
        refs.create_branch(store, "c", RefTarget(1, "nobody"))


def test_what_is_not_there_is_not_found(store: ObjectStore) -> None:
    for call in (
        lambda: refs.get_tag(store, "t"),
        lambda: refs.update_tag(store, "t", RefTarget(1)),
        lambda: refs.replace_tag_metadata(store, "t", {}),
        lambda: refs.delete_tag(store, "t"),
        lambda: refs.get_branch(store, "t"),
        lambda: refs.replace_branch_metadata(store, "t", {}),
        lambda: refs.delete_branch(store, "t"),
    ):
        with pytest.raises(RefNotFoundError, match="t does not exist"):
            call()
    assert list_paths(store) == []


@pytest.mark.parametrize("name", ["../x", "", "a b", "é", "a.lock"])
def test_bad_names_reach_no_store(store: ObjectStore, name: str) -> None:
    for create in (refs.create_tag, refs.create_branch):
        with pytest.raises(InvalidRefError):
            create(store, name, RefTarget(1))
    assert list_paths(store) == []


def test_metadata_is_text(store: ObjectStore) -> None:
    refs.create_tag(store, "t", RefTarget(1))
    for metadata in ({"a": 1}, {1: "a"}, ["a"]):
        with pytest.raises(InvalidInputError):
            refs.replace_tag_metadata(store, "t", metadata)  # type: ignore[arg-type]


def test_garbage_among_the_refs_is_reported(store: ObjectStore) -> None:
    refs.create_tag(store, "t", RefTarget(1))
    store.put("_refs/tags/notes.txt", b"x")
    assert list(refs.list_tags(store)) == ["t"]
    store.put("_refs/tags/a b.json", b"{}")
    with pytest.raises(CorruptFileError, match="a b"):
        refs.list_tags(store)
    store.put("_refs/branches/b.json", b"x" * ((1 << 20) + 1))
    with pytest.raises(CorruptFileError, match="bytes"):
        refs.list_branches(store)


def _with_files(store: ObjectStore, branch: str, versions: int = 3) -> list[str]:
    folder = f"tree/{branch}"
    made = [f"{folder}/{manifest_path(version)}" for version in range(1, versions + 1)]
    made += [f"{folder}/data/a.lance", f"{folder}/_transactions/1-x.txn"]
    for path in made:
        store.put(path, b"x")
    return made


def test_a_deleted_branch_leaves_other_branches_alone(store: ObjectStore) -> None:
    for name in ("a", "a/b", "ab"):
        refs.create_branch(store, name, RefTarget(1))
    _with_files(store, "a")
    kept = [*_with_files(store, "a/b"), *_with_files(store, "ab")]
    store.put("data/a.lance", b"x")
    refs.delete_branch(store, "a")
    left = set(list_paths(store))
    assert left == {*kept, "data/a.lance", "_refs/branches/a%2Fb.json", "_refs/branches/ab.json"}


def test_what_is_referred_to_is_not_deleted(store: ObjectStore) -> None:
    refs.create_branch(store, "a", RefTarget(1))
    refs.create_branch(store, "b", RefTarget(2, "a"))
    refs.create_tag(store, "t", RefTarget(3, "b"))
    files = [*_with_files(store, "a"), *_with_files(store, "b")]
    with pytest.raises(RefConflictError, match="branches"):
        refs.delete_branch(store, "a")
    with pytest.raises(RefConflictError, match="tags"):
        refs.delete_branch(store, "b", force=True)
    assert all(exists(store, path) for path in files)


class _Dies(MemoryStore):
    """Fails at one of its deletions."""

    left = 1 << 30

    def delete(self, path: str) -> None:
        if self.left == 0:
            raise OSError("the process died")
        self.left -= 1
        super().delete(path)


@each_case("done", range(6))
def test_an_interrupted_deletion_shows_all_of_a_branch_or_nothing(done: int) -> None:
    store = _Dies()
    refs.create_branch(store, "a", RefTarget(1))
    files = _with_files(store, "a")
    store.left = done
    with pytest.raises(OSError, match="died"):
        refs.delete_branch(store, "a")
    assert list(refs.list_branches(store)) == ["a"]
    left = list_paths(store)
    if any("/_versions/" in path for path in left):
        assert files[2] in left  # the newest version
        assert files[3] in left  # its data
    store.left = 1 << 30
    refs.delete_branch(store, "a")
    assert list_paths(store) == []


def test_files_without_a_branch_are_deleted_by_force_only(store: ObjectStore) -> None:
    files = _with_files(store, "a")
    with pytest.raises(RefNotFoundError):
        refs.delete_branch(store, "a")
    assert sorted(list_paths(store)) == sorted(files)
    refs.delete_branch(store, "a", force=True)
    assert list_paths(store) == []
