"""Neither builds nor searches of vectors import pandas, which takes longer than most of them."""

from __future__ import annotations

from pathlib import Path

from tests.pandas_imports import run_watched

SCRIPT = """
import numpy as np, pyarrow as pa
import lance_core

ROWS, WIDTH = 600, 8

def vectors(dtype):
    flat = np.random.default_rng(0).normal(size=ROWS * WIDTH).astype(dtype)
    type_ = pa.from_numpy_dtype(flat.dtype)
    items = pa.Array.from_buffers(type_, len(flat), [None, pa.py_buffer(flat)])
    return pa.FixedSizeListArray.from_arrays(items, WIDTH)

columns = [vectors(dtype) for dtype in ("f4", "f2", "f8")]
table = pa.Table.from_arrays(columns, names=["v", "h", "d"])
dataset = lance_core.write_dataset(table, sys.argv[1], max_rows_per_file=200)
nearest = {"q": np.zeros(WIDTH, np.float32), "k": 3}
for column in "vhd":
    dataset.to_table(nearest={"column": column, **nearest})
    check(f"a search of all values of {column}")
for kind, options in (
    ("IVF_FLAT", {}), ("IVF_PQ", {"num_sub_vectors": 2}), ("IVF_SQ", {}), ("IVF_RQ", {}),
    ("IVF_HNSW_SQ", {}),
):
    dataset.create_index("v", kind, num_partitions=2, replace=True, **options)
    check(f"a build of {kind}")
    dataset.to_table(nearest={"column": "v", **nearest})
    dataset.to_table(["v"], nearest={"column": "v", **nearest}, filter="_rowid > 5")
    check(f"a search of {kind}")
lance_core.write_dataset(table.slice(0, 50), dataset.uri, mode="append")
dataset = lance_core.dataset(dataset.uri)
dataset.to_table(nearest={"column": "v", **nearest})
check("a search with other rows")
dataset.optimize.optimize_indices()
check("optimize_indices")
dataset.delete("_rowid = 5")
dataset.optimize.compact_files()
check("compact_files")
dataset.to_table(nearest={"column": "v", **nearest})
check("a search of moved rows")
"""


def test_no_verb_of_vectors_imports_pandas(tmp_path: Path) -> None:
    run_watched(SCRIPT, tmp_path / "vectors")
