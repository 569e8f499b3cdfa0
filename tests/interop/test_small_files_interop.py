"""Tables of many small files: what pylance wrote is read at once, and what we wrote by pylance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

ROWS = 3_000
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]


def rows() -> pa.Table:
    """Columns whose pages differ in their encodings, symbols and dictionaries."""
    rng = np.random.default_rng(7)
    numbers = np.arange(ROWS)
    return pa.table(
        {
            "i": numbers,
            "packed": rng.integers(0, 1000, ROWS).astype(np.int32),
            "few": np.repeat(rng.integers(0, 9, ROWS // 50), 50),
            "sparse": pa.array(rng.random(ROWS), mask=rng.random(ROWS) < 0.001),
            "halves": pa.array(rng.random(ROWS), mask=numbers // 300 % 2 == 0),
            "flag": rng.random(ROWS) < 0.5,
            "word": [WORDS[i % (1 + i // 700)] for i in numbers],
            "text": [" ".join(np.array(WORDS)[rng.integers(0, 5, 40)]) for _ in numbers],
            "code": [f"c{i * 7919 % 99991}" for i in numbers],
            "binary": pa.array([bytes([i % 256]) * (i % 9) for i in numbers], pa.large_binary()),
            "lists": pa.array([None if i % 9 == 0 else [i] * (i % 5) for i in numbers]),
            "struct": [{"x": int(i) if i % 3 else None, "w": WORDS[i % 5]} for i in numbers],
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(rng.random(8 * ROWS).astype(np.float32)), 8
            ),
            "day": pa.array((numbers % 400).astype(np.int32), pa.date32()),
        }
    )


TABLE = rows()
FILTERS = ["i % 100 = 7", "word = 'beta' AND packed < 300", "sparse IS NULL", "halves > 0.5"]


@pytest.mark.parametrize("by", [lance, lance_core])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_both_libraries_read_the_same(tmp_path: Path, version: str, by: Any) -> None:
    uri = str(tmp_path / "table")
    by.write_dataset(TABLE, uri, max_rows_per_file=100, data_storage_version=version)
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    assert ours.to_table() == theirs.to_table() == TABLE
    for where in FILTERS:
        expected = theirs.to_table(filter=where, with_row_id=True)
        assert ours.to_table(filter=where, with_row_id=True) == expected
        assert ours.count_rows(where) == expected.num_rows
    taken = np.random.default_rng(3).permutation(ROWS)[:200].tolist()
    assert ours.take(taken).to_pylist() == theirs.take(taken).to_pylist()
    sizes = [batch.num_rows for batch in ours.to_batches()]
    assert sizes == [batch.num_rows for batch in theirs.to_batches()]


@each_case("stable", [False, True])
@each_case("version", ["2.0", "2.1", "2.2"])
def test_rows_that_one_library_deletes_are_missing_for_the_other(
    tmp_path: Path, version: str, stable: bool
) -> None:
    uri = str(tmp_path / "table")
    lance.write_dataset(
        TABLE,
        uri,
        max_rows_per_file=100,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    lance.dataset(uri).delete("i % 37 = 3 OR (i >= 500 AND i < 600)")
    lance_core.dataset(uri).delete("code = 'c7919' OR i BETWEEN 640 AND 700")
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    options = {"with_row_id": True, "with_row_address": True}
    assert ours.to_table(**options) == theirs.to_table(**options)
    where = "packed < 500 AND text LIKE '%beta%'"
    assert ours.to_table(filter=where, **options) == theirs.to_table(filter=where, **options)
