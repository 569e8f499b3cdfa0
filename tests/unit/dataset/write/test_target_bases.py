"""New data files go to base paths in turn, with the caller's permission, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import discard_fragments, write_fragments
from lance_core.errors import BasePathRefusedError, InvalidInputError

ROWS = pa.table({"x": [1, 2, 3]})


def data_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.lance"))


def table(tmp_path: Path, **options: Any) -> lance.LanceDataset:
    bases = [lance.DatasetBasePath(str(tmp_path / "one"), name="one")]
    return lance.write_dataset(ROWS, tmp_path / "t", initial_bases=bases, **options)


def test_a_table_that_was_just_made_may_use_its_bases(tmp_path: Path) -> None:
    dataset = table(tmp_path, target_bases=["one"])
    assert dataset.to_table() == ROWS
    dataset.insert(ROWS, mode="append", target_all_bases=True, max_rows_per_file=2)
    assert len(data_files(tmp_path / "one")) == 2


def test_a_name_in_a_table_of_others_is_no_permission(tmp_path: Path) -> None:
    uri = table(tmp_path).uri
    with pytest.raises(BasePathRefusedError, match="allow_base_paths"):
        lance.write_dataset(ROWS, uri, mode="append", target_bases=["one"])
    with pytest.raises(BasePathRefusedError):
        lance.write_dataset(ROWS, uri, mode="append", target_all_bases=True)
    assert data_files(tmp_path / "one") == []
    path = str(tmp_path / "one")
    written = lance.write_dataset(ROWS, uri, mode="append", target_bases=[path])
    assert written.count_rows("x > 0") == 6
    assert lance.dataset(uri, base_store_params={path: {}}).count_rows("x > 0") == 6


def test_a_failed_write_removes_its_files_everywhere(tmp_path: Path) -> None:
    dataset = table(tmp_path)
    before = data_files(tmp_path)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        raise RuntimeError("no more rows")

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    with pytest.raises(RuntimeError):
        lance.write_dataset(
            reader, dataset, mode="append", target_all_bases=True, max_rows_per_file=1
        )
    assert data_files(tmp_path) == before


def test_fragments_in_a_base_are_committed_or_discarded(tmp_path: Path) -> None:
    dataset = table(tmp_path)
    parts = [write_fragments(ROWS, dataset, target_bases=["one"]) for _ in range(2)]
    first, second = (part for part in parts if isinstance(part, list))
    discard_fragments(second, dataset)
    assert len(data_files(tmp_path / "one")) == 1
    operation = lance.LanceOperation.Append(first)
    dataset = lance.LanceDataset.commit(dataset, operation, dataset.version)
    assert dataset.count_rows("x > 0") == 6


def test_free_ids_are_given_to_bases_without_one(tmp_path: Path) -> None:
    ids = [2, None, None]
    bases = [lance.DatasetBasePath(f"{tmp_path}/{n}", id=id_) for n, id_ in enumerate(ids)]
    made = lance.write_dataset(ROWS, tmp_path / "t", initial_bases=bases)
    assert {id_: base.path[-1] for id_, base in made.base_paths().items()} == {
        1: "1",
        2: "0",
        3: "2",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"target_bases": "one"},
        {"target_bases": [1]},
        {"target_bases": ["two"]},
        {"target_all_bases": "yes"},
        {"target_bases": ["one"], "target_all_bases": False},
        {"base_store_params": ["s3://bucket"]},
        {"base_store_params": {"s3://bucket": "secret"}},
        {"base_store_params": {"": {}}},
    ],
)
def test_invalid_arguments_write_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        table(tmp_path, **options)
    assert data_files(tmp_path) == []


def test_merges_write_to_bases(tmp_path: Path) -> None:
    dataset = table(tmp_path)
    merge = dataset.merge_insert("x").when_not_matched_insert_all()
    merge.target_all_bases(False).execute(pa.table({"x": [3, 4]}))
    assert len(data_files(tmp_path / "one")) == 1
    assert sorted(dataset.to_table()["x"].to_pylist()) == [1, 2, 3, 4]
    with pytest.raises(InvalidInputError, match="combined"):
        merge.target_bases(["one"])
    with pytest.raises(InvalidInputError, match="'two'"):
        dataset.merge_insert("x").when_not_matched_insert_all().target_bases(["two"]).execute(ROWS)
