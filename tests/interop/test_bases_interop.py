"""Tables whose files are in several base paths: written by either library, read by both."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")


def rows(start: int, stop: int) -> pa.Table:
    return pa.table({"x": range(start, stop), "s": [str(i) for i in range(start, stop)]})


def locations(dataset: Any) -> list[list[int | None]]:
    """The base ids of the files of each fragment."""
    return [[file.base_id for file in part.data_files()] for part in dataset.get_fragments()]


def files(folder: Path) -> int:
    return sum(path.suffix == ".lance" for path in folder.rglob("*.lance"))


def written(library: Any, tmp_path: Path) -> Any:
    """A table that ``library`` has written, appended to and merged into at several locations."""
    bases = [
        library.DatasetBasePath(str(tmp_path / "one"), name="one"),
        library.DatasetBasePath(str(tmp_path / "two"), name="two", is_dataset_root=True, id=9),
    ]
    split: dict[str, Any] = {"max_rows_per_file": 2}
    dataset = library.write_dataset(
        rows(0, 6), tmp_path / "t", initial_bases=bases, target_bases=["two", "one"], **split
    )
    append: dict[str, Any] = {"mode": "append", **split}
    library.write_dataset(rows(6, 10), dataset, target_bases=[bases[0].path, dataset.uri], **append)
    dataset = library.write_dataset(rows(10, 16), dataset, target_all_bases=True, **append)
    dataset = library.write_dataset(rows(16, 20), dataset, target_all_bases=False, **append)
    merge = dataset.merge_insert("x").when_matched_update_all().when_not_matched_insert_all()
    merge.target_bases(["two"]).execute(rows(1, 22))
    return dataset


def test_writes_and_merges_go_to_the_same_locations(tmp_path: Path) -> None:
    theirs = written(lance, tmp_path / "theirs")
    ours = written(lance_core, tmp_path / "ours")
    assert locations(ours) == locations(theirs)
    for dataset in (ours, theirs):
        allowed = lance_core.dataset(dataset.uri, allow_base_paths=str(tmp_path))
        read = allowed.to_table().sort_by("x")
        assert read == lance.dataset(dataset.uri).to_table().sort_by("x")
        assert read == rows(0, 22)


def test_compactions_move_all_rows_to_the_root(tmp_path: Path) -> None:
    dataset = written(lance_core, tmp_path)
    dataset.optimize.compact_files()
    assert locations(dataset) == [[None]]
    dataset.insert(rows(30, 32), mode="append", target_bases=["one"])
    dataset.optimize.compact_files(compaction_mode="force_binary_copy")
    assert locations(dataset) == [[None]]
    assert lance.dataset(dataset.uri).to_table() == dataset.to_table()
    before = files(tmp_path / "one"), files(tmp_path / "two")
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert (files(tmp_path / "one"), files(tmp_path / "two")) == before
    assert files(tmp_path / "t") == 1


def test_blobs_lie_beside_the_files_of_their_base(tmp_path: Path) -> None:
    bases = [lance_core.DatasetBasePath(str(tmp_path / "one"), name="one")]
    values = [b"small", b"x" * 100_000]
    dataset = lance_core.write_dataset(
        pa.table({"b": lance_core.blob_array(values)}),
        tmp_path / "t",
        initial_bases=bases,
        target_bases=["one"],
    )
    assert not (tmp_path / "t" / "data").exists()
    for opened in (dataset, lance.dataset(dataset.uri)):
        assert [file.read() for file in opened.take_blobs("b", indices=[0, 1])] == values


def test_added_bases_are_written_to_by_either_library(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(rows(0, 2), tmp_path / "t")
    dataset.add_bases([lance_core.DatasetBasePath(str(tmp_path / "one"), name="one")])
    dataset.insert(rows(2, 4), mode="append", target_bases=["one"])
    lance.write_dataset(rows(4, 6), dataset.uri, mode="append", target_bases=["one"])
    dataset.checkout_latest()
    assert locations(dataset) == [[None], [1], [1]]
    assert dataset.to_table() == lance.dataset(dataset.uri).to_table() == rows(0, 6)


@each_case("library", [lance, lance_core])
def test_what_cannot_be_a_target_is_refused(tmp_path: Path, library: Any) -> None:
    bases = [library.DatasetBasePath(str(tmp_path / "one"))]
    library.write_dataset(rows(0, 1), tmp_path / "t", mode="overwrite")
    for options in (
        {"target_bases": ["none"]},
        {"target_bases": [""]},
        {"target_bases": ["t"], "target_all_bases": True},
        {"initial_bases": bases},
    ):
        with pytest.raises((OSError, ValueError), match=r"base"):
            library.write_dataset(rows(0, 1), tmp_path / "t", mode="append", **options)
    assert files(tmp_path) == 1
