"""Where files are cut, and what a file that cannot be finished leaves behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.datafile.writer import FileWriter
from lance_core.dataset.blobs.side_files import SideFiles
from lance_core.dataset.write.fragment_writer import BlobOptions
from lance_core.errors import InvalidInputError, StoreError


def files_of(uri: str) -> list[str]:
    return sorted(str(path) for path in Path(uri).rglob("*") if path.is_file())


def test_files_of_wide_tables_end_when_they_are_large_enough(uri: str) -> None:
    """The size of a batch with so many columns is estimated."""
    numbers = np.random.default_rng(1).integers(0, 1 << 62, 100)
    table = pa.table({f"c{n}": numbers for n in range(100)})
    dataset = lance.write_dataset(
        iter(table.to_batches()), uri, max_bytes_per_file=75_000, data_cache_bytes=1
    )
    assert [fragment.physical_rows for fragment in dataset.get_fragments()] == [93, 7]


@pytest.mark.parametrize("failing", [SideFiles, FileWriter])
def test_a_file_with_blobs_that_cannot_be_finished_raises_why_and_leaves_nothing(
    uri: str, monkeypatch: pytest.MonkeyPatch, failing: type
) -> None:
    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    schema = pa.schema([lance.blob_field("b")])
    blobs = pa.table([lance.blob_array([bytes(100_000), bytes(5 << 20)])], schema=schema)
    dataset = lance.write_dataset(blobs, uri)
    before = files_of(uri)
    monkeypatch.setattr(failing, "close" if failing is SideFiles else "finish", fail)
    with pytest.raises(StoreError, match="the disk is full"):
        lance.write_dataset(blobs, dataset, mode="append")
    assert files_of(uri) == before


def test_packs_of_blobs_may_have_a_limit_of_no_bytes_but_no_negative_one() -> None:
    assert BlobOptions(pack_limit=0).pack_limit == 0
    for wrong in (-1, 1.5):
        with pytest.raises(InvalidInputError, match="non-negative number of bytes"):
            BlobOptions(pack_limit=wrong)  # type: ignore[arg-type]
