"""Segments of text indices of one library, merged, moved and searched by the other."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.interop.index.test_text_interop import KINDS, ROWS, append, assert_same, documents

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")


def table_of(path: Path, **options: Any) -> str:
    """A table of three fragments, without an index."""
    rows = pa.table({"id": range(ROWS), "t": documents()})
    lance_core.write_dataset(rows, path, max_rows_per_file=250, **options)
    return str(path)


def index_files(uri: str) -> dict[str, int]:
    """The versions of the segments of the index, by the format of their postings."""
    return {
        f"{segment.index_version}": len(segment.fragment_ids)
        for index in lance.dataset(uri).describe_indices()
        for segment in index.segments
    }


@pytest.mark.parametrize("kind", ["format-1", "format-3"])
def test_segments_of_both_libraries_are_one_index(tmp_path: Path, kind: str) -> None:
    uri = table_of(tmp_path / "t")
    ours, theirs = lance_core.dataset(uri), lance.dataset(uri)
    options = KINDS[kind]
    own = [
        ours.create_index_uncommitted("t", "INVERTED", "t_idx", fragment_ids=[id_], **options)
        for id_ in (0, 1)
    ]
    merged = ours.merge_existing_index_segments(own)
    other = theirs.create_index_uncommitted(
        "t", "INVERTED", "t_idx", fragment_ids=[2], **{"block_size": 128, **options}
    )
    ours.commit_existing_index_segments("t_idx", "t", [merged])
    lance.dataset(uri).commit_existing_index_segments("t_idx", "t", [other])
    version = {"format-1": "1", "format-3": "3"}.get(kind, "2")
    assert index_files(uri).keys() == {version}
    assert_same(uri, kind)
    lance_core.dataset(uri).optimize.optimize_indices(num_indices_to_merge=2)
    assert index_files(uri) == {version: 3}
    assert_same(uri, kind)
    lance_core.dataset(uri).optimize.optimize_indices(retrain=True)
    assert index_files(uri) == {version: 3}
    assert_same(uri, kind)


def test_new_segments_have_terms_in_the_form_of_those_before_them(tmp_path: Path) -> None:
    uri = table_of(tmp_path / "t")
    lance.dataset(uri).create_scalar_index("t", "INVERTED")
    append(uri)
    lance_core.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    append(uri, ROWS + 50)
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=5)
    assert_same(uri, "default")
    append(uri, ROWS + 100)
    lance_core.dataset(uri).optimize.optimize_indices(num_indices_to_merge=5)
    append(uri, ROWS + 150)
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=5)
    assert_same(uri, "default")


@pytest.mark.parametrize(
    ("library", "stable", "deferred"),
    [
        (lance, True, False),
        (lance, False, True),
        (lance_core, False, False),
        (lance_core, False, True),
    ],
)
def test_compactions_move_indices(
    tmp_path: Path, library: ModuleType, stable: bool, deferred: bool
) -> None:
    uri = table_of(tmp_path / "t", enable_stable_row_ids=stable)
    other = lance_core if library is lance else lance
    other.dataset(uri).create_scalar_index("t", "INVERTED", with_position=True)
    append(uri)
    library.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    options = {} if stable else {"defer_index_remap": deferred}
    library.dataset(uri).optimize.compact_files(**options)
    assert lance_core.dataset(uri).stats.dataset_stats()["num_fragments"] < 4
    assert_same(uri, "positions")
    dataset = lance_core.dataset(uri)
    dataset.prewarm_index("t_idx")
    stats = dataset.stats.index_stats("t_idx")
    assert stats["num_unindexed_rows"] == 0
    assert stats["num_indexed_rows"] == dataset.count_rows()
    other.dataset(uri).optimize.optimize_indices()
    assert_same(uri, "positions")
    lance_core.dataset(uri).drop_index("t_idx")
    assert "t_idx" not in [index.name for index in lance.dataset(uri).describe_indices()]
