"""Tables of release 0.8.0 and earlier, whose manifests may count their rows wrong."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from tests.table_surgery import edit_manifest

WRONG = [(90, 10), (100, 7), (5, 10), (90, 95), (0, 10), (100, 0), (0, 0)]
"""Physical and deleted rows that the manifest records of a fragment of 100, 10 of them deleted."""


def old_table(
    uri: str, physical: int, deleted: int, change: Callable[[table_pb2.Manifest], object]
) -> lance.LanceDataset:
    dataset = lance.write_dataset(pa.table({"x": range(100)}), uri, data_storage_version="legacy")
    dataset.delete("x < 10")
    dataset.insert(pa.table({"x": range(100, 102)}))

    def record(manifest: table_pb2.Manifest) -> None:
        manifest.fragments[0].physical_rows = physical
        manifest.fragments[0].deletion_file.num_deleted_rows = deleted
        change(manifest)

    return edit_manifest(lance.dataset(uri), record)


def by_an_old_release(manifest: table_pb2.Manifest) -> None:
    """Releases name themselves in manifests only after 0.8.0."""
    manifest.ClearField("writer_version")


def check(dataset: lance.LanceDataset) -> None:
    expected = [*range(10, 100), 100, 101]
    assert dataset.count_rows() == 92
    assert dataset.to_table()["x"].to_pylist() == expected
    assert dataset.count_rows(filter="x >= 0") == 92
    assert dataset.take([91, 0, 89])["x"].to_pylist() == [101, 10, 99]
    first, second = dataset.get_fragments()
    assert (first.physical_rows, first.num_deletions, first.count_rows()) == (100, 10, 90)
    assert (second.physical_rows, second.num_deletions, second.count_rows()) == (2, 0, 2)
    dataset.validate()


@pytest.mark.parametrize(("physical", "deleted"), WRONG)
def test_rows_are_counted_by_the_files(physical: int, deleted: int, uri: str) -> None:
    dataset = old_table(uri, physical, deleted, by_an_old_release)
    check(dataset)
    totals = dataset.versions()[-1]["metadata"]
    # These are what the manifest records.
    assert totals["total_data_file_rows"] == str(physical + 2)
    assert totals["total_deletion_file_rows"] == str(deleted)


def test_wrong_counts_are_not_handed_on(uri: str) -> None:
    for change in (
        lambda dataset: dataset.update_config({"a": "b"}),
        lambda dataset: dataset.delete("x = 101"),
        lambda dataset: dataset.insert(pa.table({"x": [1]})),
    ):
        dataset = old_table(f"{uri}{len(uri)}", 90, 7, by_an_old_release)
        uri += "x"
        change(dataset)
        dataset = lance.dataset(dataset.uri)
        manifest = dataset.snapshot.manifest
        assert manifest.writer_version is not None
        first = manifest.fragments[0]
        assert first.physical_rows in (None, 100)
        assert first.num_deleted_rows in (None, 10)
        assert dataset.count_rows(filter="x < 101") in (91, 92)
        assert dataset.get_fragments()[0].count_rows() == 90
    dataset.restore()
    assert dataset.count_rows() == 93


def test_wrong_counts_of_later_releases_are_damage(uri: str) -> None:
    dataset = old_table(uri, 90, 10, lambda manifest: None)
    with pytest.raises(CorruptFileError, match="the file has 100 rows, fragment 0 has 90"):
        dataset.to_table()
