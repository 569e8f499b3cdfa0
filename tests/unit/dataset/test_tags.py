"""Tags: names for versions of any branch."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits import refs
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    InvalidRefError,
    OutcomeUnknownError,
    RefConflictError,
    RefNotFoundError,
)
from lance_core.store.base import ObjectStore
from lance_core.table.paths import manifest_path
from lance_core.table.refs import Tag
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused

ROW = pa.table({"x": [1]})


@pytest.fixture
def table(uri: str) -> lance.LanceDataset:
    """Versions of 1, 2 and 3 rows, and a branch ``b`` with a fourth."""
    for _ in range(3):
        dataset = lance.write_dataset(ROW, uri, mode="append")
    lance.write_dataset(ROW, dataset.create_branch("b"), mode="append")
    return dataset


def target(dataset: lance.LanceDataset, tag: str) -> tuple[str | None, int]:
    found = dataset.tags.list()[tag]
    return found["branch"], found["version"]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (1, (None, 1)),
        ((None, 2), (None, 2)),
        (("main", 2), (None, 2)),
        ((None, None), (None, 3)),
        (("b", 3), ("b", 3)),
        (("b", None), ("b", 4)),
        ("other", ("b", 3)),
        (None, (None, 3)),
    ],
)
def test_a_tag_names_what_the_reference_means(
    table: lance.LanceDataset, reference: Any, expected: tuple[str | None, int]
) -> None:
    table.tags.create("other", ("b", 3))
    table.tags.create("t", reference)
    assert target(table, "t") == expected
    table.tags.create("u", 1)
    table.tags.update("u", reference)
    assert target(table, "u") == expected
    opened = lance.dataset(table.uri, version="t")
    assert (opened.version, opened.count_rows()) == (expected[1], expected[1])
    assert table.checkout_version("t").version == expected[1]
    assert table.tags.get_version("t") == expected[1]


def test_on_a_branch_numbers_are_of_that_branch(table: lance.LanceDataset) -> None:
    branch = table.checkout_version(("b", 4))
    branch.tags.create("here")
    branch.tags.create("number", 3)
    branch.tags.create("main", (None, None))
    assert [target(table, tag) for tag in ("here", "number", "main")] == [
        ("b", 4),
        ("b", 3),
        (None, 3),
    ]
    assert branch.tags.list() == table.tags.list()
    assert lance.dataset(branch.uri).tags.list() == table.tags.list()


def test_without_a_reference_the_open_version_is_tagged(table: lance.LanceDataset) -> None:
    table.checkout_version(2).tags.create("t")
    assert table.tags.get_version("t") == 2


def test_a_tag_tells_its_times_and_the_size_of_its_manifest(table: lance.LanceDataset) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    table.tags.create("t", 1)
    table.tags.replace_metadata("t", {"why": "release"})
    tag = table.tags.list()["t"]
    assert before < tag["created_at"] == tag["updated_at"] < before + timedelta(minutes=1)
    assert tag["metadata"] == {"why": "release"}
    root = table.snapshot.root
    assert tag["manifest_size"] == root.store.head(root.handler.locate(1).path).size
    table.tags.update("t", 2)
    assert table.tags.list()["t"]["updated_at"] > tag["updated_at"]
    assert table.tags.list()["t"]["created_at"] == tag["created_at"]


def test_tags_are_ordered_by_version_and_name(table: lance.LanceDataset) -> None:
    for name, version in (("b", 2), ("a", 2), ("c", 3), ("d", 1)):
        table.tags.create(name, version)
    assert [name for name, _ in table.tags.list_ordered()] == ["c", "a", "b", "d"]
    assert [name for name, _ in table.tags.list_ordered("desc")] == ["c", "a", "b", "d"]
    assert [name for name, _ in table.tags.list_ordered("asc")] == ["d", "a", "b", "c"]
    with pytest.raises(InvalidInputError, match="asc, desc"):
        table.tags.list_ordered("up")


def test_a_deleted_tag_is_gone_and_its_version_is_not(table: lance.LanceDataset) -> None:
    table.tags.create("t", 1)
    table.tags.delete("t")
    assert table.tags.list() == {}
    assert table.checkout_version(1).count_rows() == 1
    for call in (table.tags.delete, table.tags.get_version, table.checkout_version):
        with pytest.raises(RefNotFoundError, match="t does not exist"):
            call("t")


def test_a_tag_exists_once(table: lance.LanceDataset) -> None:
    table.tags.create("t", 1)
    with pytest.raises(RefConflictError, match="already exists"):
        table.tags.create("t", 2)
    assert target(table, "t") == (None, 1)


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        (99, DatasetNotFoundError),
        (0, DatasetNotFoundError),
        (-1, DatasetNotFoundError),
        (("nobody", 1), DatasetNotFoundError),
        (("nobody", None), DatasetNotFoundError),
        (("b", 1), DatasetNotFoundError),
        ("nobody", RefNotFoundError),
        ("../x", InvalidRefError),
        (("../x", 1), InvalidRefError),
        (("b", "1"), InvalidInputError),
        ((1, 1), InvalidInputError),
        ((None,), InvalidInputError),
        (1.5, InvalidInputError),
        ([1], InvalidInputError),
    ],
)
def test_what_is_no_version_is_not_tagged(
    table: lance.LanceDataset, reference: Any, error: type[Exception]
) -> None:
    table.tags.create("kept", 1)
    with pytest.raises(error):
        table.tags.create("t", reference)
    with pytest.raises(error):
        table.tags.update("kept", reference)
    with pytest.raises(error):
        table.checkout_version(reference)
    assert list(table.tags.list()) == ["kept"]
    assert target(table, "kept") == (None, 1)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"version": 99}', b'{"version": 1, "branch": "../../x"}', b'{"version": "1"}'],
)
def test_garbage_for_a_tag_is_refused(table: lance.LanceDataset, content: bytes) -> None:
    table.snapshot.root.store.put("_refs/tags/t.json", content)
    with pytest.raises((CorruptFileError, DatasetNotFoundError)):
        lance.dataset(table.uri, version="t")


def test_a_tag_is_not_moved_to_a_version_that_is_cleaned_up_meanwhile(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.tags.create("t", 1)
    written = refs.update_tag

    def late(store: ObjectStore, name: str, target: refs.RefTarget) -> Tag:
        store.delete(manifest_path(2))
        return written(store, name, target)

    monkeypatch.setattr(refs, "update_tag", late)
    with pytest.raises(DatasetNotFoundError):
        table.tags.update("t", 2)
    assert target(table, "t") == (None, 1)


def test_a_tag_whose_version_cannot_be_looked_at_is_not_said_to_be_absent(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [FaultRule(Refused(), "head"), FaultRule(Refused(), "get")]
    faulty = FaultyStore(table.snapshot.root.store)
    handler = PutIfAbsentCommitHandler(faulty)
    root = dataclasses.replace(table.snapshot.root, store=faulty, handler=handler)
    written = refs.create_tag

    def failing_afterwards(store: ObjectStore, name: str, target: refs.RefTarget) -> Tag:
        made = written(store, name, target)
        faulty.set_rules(rules)
        return made

    monkeypatch.setattr(refs, "create_tag", failing_afterwards)
    with pytest.raises(OutcomeUnknownError, match="tag t was written"):
        lance.LanceDataset.of(dataclasses.replace(table.snapshot, root=root)).tags.create("t")
    assert target(table, "t") == (None, 3)
