"""Arguments that pylance names do the same by name; merges of batches, as it names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES = (lance, lance_core)


def new_table(lib: Any, folder: Path) -> Any:
    rows = pa.table({"x": range(6), "t": list("abcdef")})
    return lib.write_dataset(rows, str(folder / lib.__name__), max_rows_per_file=3)


def test_merges_of_batches_are_merges(tmp_path: Path) -> None:
    new = pa.table({"x": [5, 6], "t": ["F", "G"]})
    results = []
    for lib in LIBRARIES:
        dataset = new_table(lib, tmp_path)
        builder = dataset.merge_insert("x").when_matched_update_all().when_not_matched_insert_all()
        _, uncommitted = builder.execute_uncommitted_batches(new.to_reader())
        plan = builder.analyze_plan_batches(new.to_reader())
        result = builder.execute_batches(new.to_reader())
        table = lib.dataset(dataset.uri).to_table().sort_by("x").to_pydict()
        results.append((uncommitted["num_updated_rows"], isinstance(plan, str), table, result))
    names = {"num_inserted_rows", "num_updated_rows", "num_deleted_rows"}
    theirs, ours = results
    assert ours[:3] == theirs[:3]
    assert {name: ours[3][name] for name in names} == {name: theirs[3][name] for name in names}


@each_case(
    "options",
    [
        {"with_row_id": True, "limit": 3},
        {"order_by": ["t"], "offset": 2, "scan_in_order": True},
        {"batch_size": 2, "with_row_address": True, "use_scalar_index": False},
        {"late_materialization": True, "filter": "x > 1", "io_buffer_size": 1 << 20},
    ],
)
def test_frames_take_the_arguments_of_scans(tmp_path: Path, options: dict[str, Any]) -> None:
    theirs, ours = (new_table(lib, tmp_path).to_pandas(**options) for lib in LIBRARIES)
    assert ours.to_dict() == theirs.to_dict()


def test_uncommitted_indices_take_the_arguments_of_vectors_and_of_others(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).random(512 * 8, np.float32)
    column = pa.FixedSizeListArray.from_arrays(vectors, 8)
    dataset: Any = lance_core.write_dataset(
        pa.table({"v": column, "x": range(512)}), tmp_path / "t.lance"
    )
    made = dataset.create_index_uncommitted(
        "v", "IVF_FLAT", "n", "cosine", False, 2, fragment_ids=[0], skip_transpose=False
    )
    dataset.commit_existing_index_segments("n", "v", [made])
    (segment,) = lance.dataset(dataset.uri).stats.index_stats("n")["indices"]
    assert segment["metric_type"] == "cosine"
    scalar = dataset.create_index_uncommitted("x", "BTREE", fragment_ids=[0])
    dataset.commit_existing_index_segments("x_idx", "x", [scalar])
    assert dataset.stats.index_stats("x_idx")["num_indexed_rows"] == 512
    with pytest.raises((TypeError, ValueError)):
        dataset.create_index_uncommitted("x", "BTREE", fragment_ids=[0], num_partitions=3)
