"""Clones: shallow ones read the files of another table, deep ones have their own."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.maintenance import clone
from lance_core.errors import (
    BasePathRefusedError,
    DatasetExistsError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    RefNotFoundError,
)
from tests.table_surgery import delete_rows


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def content(dataset: lance.LanceDataset) -> list[int]:
    values: list[int] = dataset.to_table()["x"].to_pylist()
    return values


@pytest.fixture
def table(uri: str) -> lance.LanceDataset:
    """Rows 1 to 5 without 2, in version 3."""
    lance.write_dataset(rows(1, 2, 3), uri)
    return delete_rows(lance.write_dataset(rows(4, 5), uri, mode="append"), {0: [1]})


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "clone"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [(None, [1, 3, 4, 5]), (1, [1, 2, 3]), ("t", [1, 2, 3, 4, 5]), (("b", None), [1, 3, 4, 5, 6])],
)
@pytest.mark.parametrize("kind", ["shallow_clone", "deep_clone"])
def test_a_clone_has_the_content_and_number_of_its_source(
    table: lance.LanceDataset, target: Path, kind: str, reference: Any, expected: list[int]
) -> None:
    table.tags.create("t", 2)
    lance.write_dataset(rows(6), table.create_branch("b"), mode="append")
    source = table if reference is None else table.checkout_version(reference)
    made = getattr(table, kind)(target, reference)
    assert (made.uri, made.version, content(made)) == (str(target), source.version, expected)
    assert made.version_refs() == [{"version": source.version}]
    assert made.tags.list() == made.branches.list() == {}
    made.validate()
    made = lance.write_dataset(rows(7), made, mode="append")
    assert content(made) == [*expected, 7]
    assert content(lance.dataset(table.uri)) == [1, 3, 4, 5]


def test_a_shallow_clone_names_its_source(table: lance.LanceDataset, target: Path) -> None:
    made = table.shallow_clone(target, None)
    (base,) = made.base_paths().values()
    assert (base.path, base.is_dataset_root) == (table.uri, True)
    assert not (target / "data").exists()


def test_only_the_returned_clone_may_read_its_source(
    table: lance.LanceDataset, target: Path
) -> None:
    made = table.shallow_clone(target, None)
    assert content(pickle.loads(pickle.dumps(made))) == [1, 3, 4, 5]
    assert content(made.checkout_version(made.version)) == [1, 3, 4, 5]
    with pytest.raises(BasePathRefusedError):
        lance.dataset(target).to_table()
    assert content(lance.dataset(target, allow_base_paths=table.uri)) == [1, 3, 4, 5]


def test_a_clone_of_a_clone_may_read_both_sources(
    table: lance.LanceDataset, tmp_path: Path
) -> None:
    first = lance.write_dataset(rows(6), table.shallow_clone(tmp_path / "1", None), mode="append")
    branch = lance.write_dataset(rows(7), first.create_branch("b"), mode="append")
    second = branch.shallow_clone(tmp_path / "2", None)
    assert content(second) == [1, 3, 4, 5, 6, 7]
    assert len(second.base_paths()) == 3
    assert content(pickle.loads(pickle.dumps(second))) == [1, 3, 4, 5, 6, 7]


def test_a_clone_does_not_widen_what_its_source_may_read(
    table: lance.LanceDataset, tmp_path: Path
) -> None:
    table.shallow_clone(tmp_path / "1", None)
    closed = lance.dataset(tmp_path / "1")
    second = closed.shallow_clone(tmp_path / "2", None)
    with pytest.raises(BasePathRefusedError):
        second.to_table()
    with pytest.raises(BasePathRefusedError):
        closed.deep_clone(tmp_path / "3", None)
    assert not (tmp_path / "3" / "_versions").exists()


def test_a_deep_clone_needs_nothing_of_its_source(
    table: lance.LanceDataset, tmp_path: Path
) -> None:
    shallow = lance.write_dataset(rows(6), table.shallow_clone(tmp_path / "1", None), mode="append")
    deep = shallow.deep_clone(tmp_path / "2", None)
    assert deep.base_paths() == {}
    shutil.rmtree(table.uri)
    shutil.rmtree(shallow.uri)
    alone = lance.dataset(tmp_path / "2")
    assert content(alone) == [1, 3, 4, 5, 6]
    alone.validate()


def test_a_deep_clone_that_fails_is_no_table(table: lance.LanceDataset, target: Path) -> None:
    *_, last = sorted(Path(table.uri, "data").iterdir())
    last.unlink()
    with pytest.raises(ObjectNotFoundError):
        table.deep_clone(target, None)
    with pytest.raises(DatasetNotFoundError):
        lance.dataset(target)
    lance.write_dataset(rows(1), table.uri, mode="overwrite")
    assert content(table.deep_clone(target, ("main", None))) == [1]


@pytest.mark.parametrize("kind", ["shallow_clone", "deep_clone"])
def test_a_table_is_not_cloned_over(table: lance.LanceDataset, target: Path, kind: str) -> None:
    lance.write_dataset(rows(9), target)
    with pytest.raises(DatasetExistsError):
        getattr(table, kind)(target, None)
    assert content(lance.dataset(target)) == [9]


@pytest.mark.parametrize("kind", ["shallow_clone", "deep_clone"])
def test_what_is_not_there_is_not_cloned(
    table: lance.LanceDataset, target: Path, kind: str
) -> None:
    for reference, error in ((99, DatasetNotFoundError), ("tag", RefNotFoundError)):
        with pytest.raises(error):
            getattr(table, kind)(target, reference)
    assert not target.exists()


def test_a_clone_goes_to_another_store(table: lance.LanceDataset) -> None:
    uri = "memory://clones/deep"
    assert content(table.deep_clone(uri, 2)) == [1, 2, 3, 4, 5]
    shallow = table.shallow_clone("memory://clones/shallow", 2, default_scan_options={"limit": 2})
    assert content(shallow) == [1, 2]


def test_files_larger_than_a_part_are_copied_whole(
    uri: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone, "PART_BYTES", 1000)
    table = lance.write_dataset(rows(*range(5000)), uri)
    assert content(table.deep_clone(target, None)) == list(range(5000))
    (old,) = Path(uri, "data").iterdir()
    assert (target / "data" / old.name).read_bytes() == old.read_bytes()
