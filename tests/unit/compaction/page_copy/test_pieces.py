"""Which pages are copied, and which rows are encoded again beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core_compaction.page_copy import merge_groups, pieces
from tests.each_case import each_case


def compact(uri: str) -> int:
    """Copy every page that can be copied, however small; returns how many are encoded again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MERGE_BYTES", 0)
        patch.setattr(merge_groups, "MAX_NUMBER_BYTES", 0)
        metrics = lance_core.dataset(uri).optimize.compact_files(
            compaction_mode="try_binary_copy", materialize_deletions_threshold=0.0
        )
    assert metrics.pages_copied > 0
    return metrics.pages_reencoded


@each_case("version", ["2.0", "2.1", "2.2"])
def test_rows_at_the_end_of_one_file_and_the_begin_of_the_next_are_encoded_together(
    tmp_path: Path, version: str
) -> None:
    uri = str(tmp_path / "t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", "8192")
        for start in (0, 8000, 16000):
            rows = pa.table({"i": np.arange(start, start + 8000) * 77_777_777_777 % 2**50})
            lance_core.write_dataset(rows, uri, mode="append", data_storage_version=version)
    dataset = lance_core.dataset(uri)
    rows = dataset.to_table()["i"].to_pylist()
    gone = ", ".join(str(rows[number]) for number in (7990, 7999, 8000, 8011, 15_999))
    dataset.delete(f"i IN ({gone})")
    before = dataset.to_table()
    assert len(before) == 24_000 - 5
    compact(uri)
    assert lance_core.dataset(uri).to_table() == before
