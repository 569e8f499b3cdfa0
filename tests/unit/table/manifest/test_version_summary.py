"""Summaries of versions are those of their manifests, in whatever order they are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.table.manifest.file import parse_manifest_file
from lance_core.table.manifest.version_summary import SummaryReader, VersionSummary


def test_versions_that_grow_shrink_and_begin_again_are_summarised(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    dataset = lance.write_dataset(pa.table({"x": range(10)}), uri, max_rows_per_file=3)
    for count in (4, 7):
        dataset.insert(pa.table({"x": range(count)}))
    dataset.delete("x = 2")
    dataset.insert(pa.table({"x": [1]}))
    lance.write_dataset(pa.table({"x": [1, 2]}), dataset, mode="overwrite")
    files = sorted(Path(uri, "_versions").glob("*.manifest"), reverse=True)
    manifests = [pa.py_buffer(path.read_bytes()) for path in files]
    expected = [VersionSummary.of(parse_manifest_file(data).manifest) for data in manifests]
    assert [one.version for one in expected] == [1, 2, 3, 4, 5, 6]
    assert [one.totals.total_rows for one in expected] == [10, 14, 21, 18, 19, 2]
    assert [one.totals.total_fragments for one in expected] == [4, 5, 6, 6, 7, 1]
    assert [one.totals.total_deletion_files for one in expected] == [0, 0, 0, 3, 3, 0]
    for order in (1, -1):
        reader = SummaryReader()
        assert [reader.read(data) for data in manifests[::order]] == expected[::order]
