"""No verb imports pandas, which takes longer than most verbs, unless it is asked for a data frame.

Arrow imports pandas where it is installed, in `Array.to_numpy`, and in conversions of Python's
values and of numpy's arrays. `numpy_values` has conversions that do not.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import lance_core
from tests.pandas_imports import run_watched

ROWS = 300

SCRIPT = """
import pyarrow as pa
import lance_core

uri, new, file = sys.argv[1:]
rows = pa.ipc.open_file(file).read_all()

lance_core.write_dataset(rows, new)
check("write_dataset")
dataset = lance_core.dataset(uri)
check("dataset")
for condition in (
    "id = 77", "id IN (1, 2, 3)", "id > 3 AND id < 9", "f > 100 AND b", "f > 1.5", "b",
    "s = 'name 5'", "s LIKE 'name 5%'", "s IS NULL", "s IN ('name 1', 'name 2')", "id % 7 = 1",
    "d = DATE '1970-01-05'", "d IN (DATE '1970-01-05', DATE '1970-01-06')", "_rowid IN (1, 2)",
    "array_has_any(l, [1, 2])", "array_has(l, 3)", "l[1] = 4", "CAST(id AS string) = '5'",
):
    dataset.to_table(filter=condition)
    dataset.count_rows(condition)
    lance_core.dataset(new).to_table(filter=condition)
    check(condition)
dataset.take([3, 1])
dataset.to_table(["id", "v"], limit=10, offset=5)
dataset.to_table(["id"], with_row_id=True, with_row_address=True)
list(dataset.to_batches(batch_size=100))
dataset.head(3)
[fragment.to_table() for fragment in dataset.get_fragments()]
check("a read")
dataset = lance_core.write_dataset(rows.slice(0, 10), uri, mode="append")
check("append")
dataset.delete("id = 5")
check("delete")
dataset.update({"f": "f + 1"}, where="id = 6")
check("update")
merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
merge.execute(rows.slice(20, 10))
check("merge_insert")
dataset.add_columns({"z": "id * 2"})
dataset.drop_columns(["z"])
check("add_columns")
dataset = lance_core.dataset(new)
for column, kind in (
    ("id", "BTREE"), ("s", "BTREE"), ("d", "BTREE"), ("b", "BITMAP"), ("l", "LABEL_LIST"),
    ("s", "NGRAM"), ("f", "ZONEMAP"), ("id", "BLOOMFILTER"),
):
    dataset.create_scalar_index(column, kind, name=f"{column} {kind}")
    check(kind)
for condition in (
    "d = DATE '1970-01-05'", "s LIKE '%me 5%'", "array_has_any(l, [1, 2])", "f > 3.5", "b",
):
    dataset.to_table(filter=condition)
    check(f"an index for {condition}")
lance_core.write_dataset(rows.slice(0, 10), new, mode="append")
lance_core.dataset(new).optimize.optimize_indices()
check("optimize_indices")
lance_core.dataset(new).optimize.compact_files()
check("compact_files")
dataset.versions()
dataset.list_indices()
repr(dataset)
check("a description")
"""


def test_no_verb_imports_pandas(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": pa.array(range(ROWS)),
            "s": [f"name {number}" for number in range(ROWS)],
            "f": [number / 3 for number in range(ROWS)],
            "b": [number % 2 == 0 for number in range(ROWS)],
            "d": pa.array(range(ROWS), pa.int32()).cast(pa.date32()),
            "l": [[number, number + 1] for number in range(ROWS)],
            "v": pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 4 * ROWS, pa.float32()), 4),
        }
    )
    with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema) as file:
        file.write_table(rows)
    dataset = lance_core.write_dataset(rows, tmp_path / "table")
    for column, kind in (("id", "BTREE"), ("s", "BTREE"), ("b", "BITMAP")):
        dataset.create_scalar_index(column, kind)
    run_watched(SCRIPT, tmp_path / "table", tmp_path / "new", tmp_path / "rows.arrow")
