"""Pairs of target and source rows with the same key: which update, and how many are read."""

from __future__ import annotations

import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.merge_insert import MergeInsertBuilder
from lance_core.dataset.write.merge_insert import decide
from lance_core.dataset.write.merge_insert import target as target_rows
from lance_core.errors import MergeError


def equal_keys(rows: int) -> pa.Table:
    """Rows with the key 0, and a last one with the key 1; ``v`` is the row's number."""
    return pa.table({"k": np.append(np.zeros(rows, np.int64), 1), "v": np.arange(rows + 1)})


def update(dataset: lance.LanceDataset, condition: str | None = None) -> MergeInsertBuilder:
    return dataset.merge_insert("k").when_matched_update_all(condition)


@pytest.mark.parametrize("condition", [None, "source.v < 2", "source.v = 5 OR source.v = 2500"])
def test_pairs_of_equal_keys_are_refused_in_little_memory(uri: str, condition: str | None) -> None:
    dataset = lance.write_dataset(equal_keys(3000), uri)
    tracemalloc.start()
    try:
        with pytest.raises(MergeError, match=r"Ambiguous merge inserts .* \(k = 0\)"):
            update(dataset, condition).execute(equal_keys(3000))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert dataset.latest_version == 1


@pytest.mark.parametrize("pairs", [1, 7, 1 << 18])
def test_a_condition_chooses_one_of_many_pairs(
    uri: str, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "_PAIRS", pairs)
    dataset = lance.write_dataset(equal_keys(6), uri)
    with pytest.raises(MergeError, match=r"\(k = 0\)"):
        update(dataset, "source.v IN (0, 4) AND target.v = 5").execute(equal_keys(5))
    one = update(dataset, "source.v = 4 AND target.v IN (2, 3) OR source.k = 1")
    assert one.execute(equal_keys(5))["num_updated_rows"] == 3
    found = sorted(dataset.to_table()["v"].to_pylist())
    assert found == [0, 1, 4, 4, 4, 5, 5]


@pytest.mark.parametrize(("module", "name"), [(decide, "rows_at"), (target_rows, "_read_at")])
@pytest.mark.parametrize("kind", ["vectors", "strings"])
def test_wide_columns_of_the_target_are_read_in_pieces(
    uri: str, module: ModuleType, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.arange(5000)
    wide = pa.array([str(number).zfill(4096) for number in numbers])
    if kind == "vectors":
        wide = pa.FixedSizeListArray.from_arrays(np.arange(5000 * 512, dtype=np.int64), 512)
    target = pa.table({"k": numbers, "v": numbers, "wide": wide})
    dataset = lance.write_dataset(target, uri, max_rows_per_file=3000)
    sizes, read = [], getattr(module, name)

    def measured(*given: Any) -> pa.Table:
        table = read(*given)
        sizes.append(table.nbytes)
        return table

    monkeypatch.setattr(module, name, measured)
    some = np.delete(numbers, [3, 3000])
    new = pa.table({"k": some, "v": some + 1})
    condition = "source.v > target.v AND target.wide IS NOT NULL"
    assert update(dataset, condition).execute(new)["num_updated_rows"] == 4998
    assert sum(sizes) > 18 << 20
    assert max(sizes) <= 13 << 20
    found = dataset.to_table().sort_by("k")
    values = np.where(np.isin(numbers, some), numbers + 1, numbers)
    assert found == target.set_column(1, "v", pa.array(values))


def test_repeated_keys_of_a_source_may_all_be_unknown(uri: str) -> None:
    dataset = lance.write_dataset(equal_keys(3), uri)
    unknown = pa.table({"k": [77, 77], "v": [1, 2]})
    assert update(dataset).execute(unknown)["num_updated_rows"] == 0
    assert dataset.to_table() == equal_keys(3)
