"""Every row after a compaction of several groups, most of which become several fragments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance

SIZES = [60, 400, 60, 500, 30, 400, 350]
GONE = "i % 5 = 2 OR i % 83 < 9"
ROWS = sum(SIZES)


def indexed(uri: str, where: str = GONE, **options: Any) -> lance.LanceDataset:
    """Fragments of `SIZES` without the rows ``where``, of which a fifth was there for the indices.

    ``i`` numbers the rows and has a tree, ``b`` has seven values and a bitmap.
    """
    start = 0
    for size in SIZES:
        numbers = np.arange(start, start + size)
        rows = pa.table({"i": numbers, "b": numbers % 7})
        dataset = lance.write_dataset(rows, uri, mode="append", **options)
        start += size
    dataset.delete(f"({where}) AND i % 25 = 2")
    dataset.create_scalar_index("i", "BTREE")
    dataset.create_scalar_index("b", "BITMAP")
    dataset.delete(where)
    return dataset


def check_every_row(dataset: lance.LanceDataset, before: pa.Table, stable: bool) -> None:
    """Rows, ids and index answers are those of the table ``before``, which has row ids."""
    rows = dataset.to_table(with_row_id=True, with_row_address=True)
    by_number = rows.sort_by("i")
    assert by_number.select(["i", "b"]) == before.select(["i", "b"])
    if stable:
        assert by_number["_rowid"] == before["_rowid"]
    else:
        assert rows["_rowid"] == rows["_rowaddr"]
    assert dataset._take_rows(by_number["_rowid"].to_pylist()) == by_number.select(["i", "b"])
    assert dataset.take(range(len(rows))) == rows.select(["i", "b"])
    check_answers(dataset, rows)
    dataset.validate()


def check_answers(dataset: lance.LanceDataset, rows: pa.Table) -> None:
    """The indices answer with the address of each row: those of all numbers with a certain bit."""
    numbers = rows["i"]
    for bit in range(ROWS.bit_length()):
        has_bit = pc.not_equal(pc.bit_wise_and(numbers, 1 << bit), 0)
        wanted = ", ".join(map(str, numbers.filter(has_bit).to_pylist()))
        assert answer(dataset, f"i IN ({wanted})", "i_idx") == rows.filter(has_bit)
    for value in range(7):
        expected = rows.filter(pc.equal(rows["b"], value))
        assert answer(dataset, f"b = {value}", "b_idx") == expected
    inside = pc.and_(pc.greater_equal(numbers, 470), pc.less(numbers, 730))
    assert answer(dataset, "i >= 470 AND i < 730", "i_idx") == rows.filter(inside)


def answer(dataset: lance.LanceDataset, where: str, index: str) -> pa.Table:
    """The rows that ``index`` alone finds."""
    scanner = dataset.scanner(
        filter=where, with_row_id=True, with_row_address=True, fast_search=True
    )
    assert index in scanner.explain_plan()
    return scanner.to_table()


def fragments_of_groups(dataset: lance.LanceDataset) -> list[int]:
    """The numbers of new fragments of the groups of the newest version."""
    transaction = dataset.get_transactions(1)[0]
    assert transaction is not None
    return [len(group.new_fragments) for group in transaction.operation.groups]


@pytest.mark.parametrize(("stable", "defer"), [(False, False), (False, True), (True, False)])
def test_every_row_keeps_its_id_and_its_index_entries_in_new_files(
    tmp_path: Path, stable: bool, defer: bool
) -> None:
    dataset = indexed(str(tmp_path / "t"), enable_stable_row_ids=stable)
    before = dataset.to_table(with_row_id=True)
    dataset.optimize.compact_files(target_rows_per_fragment=100, defer_index_remap=defer)
    assert fragments_of_groups(dataset) == [3, 3, 3, 2]
    check_every_row(dataset, before, stable)


@pytest.mark.parametrize(
    ("mode", "where", "groups", "stable", "defer"),
    [
        ("force_binary_copy", "false", [3, 2, 2], False, False),
        ("force_binary_copy", "false", [3, 2, 2], True, False),
        ("try_binary_copy", GONE, [4, 3], False, True),
        ("try_binary_copy", GONE, [4, 3], True, False),
    ],
)
def test_every_row_keeps_its_id_and_its_index_entries_in_copied_files(
    tmp_path: Path, mode: Any, where: str, groups: list[int], stable: bool, defer: bool
) -> None:
    dataset = indexed(str(tmp_path / "t"), where, enable_stable_row_ids=stable)
    before = dataset.to_table(with_row_id=True)
    # Each file becomes a file: some groups have several.
    metrics = dataset.optimize.compact_files(
        target_rows_per_fragment=510,
        max_bytes_per_file=1,
        defer_index_remap=defer,
        compaction_mode=mode,
    )
    assert fragments_of_groups(dataset) == groups
    assert metrics.pages_reencoded == 0 or mode == "try_binary_copy"
    check_every_row(dataset, before, stable)


def test_every_row_is_where_all_remaps_that_were_deferred_say(uri: str) -> None:
    dataset = indexed(uri)
    before = dataset.to_table(with_row_id=True)
    for number, target in enumerate((100, 150, 300, 500)):
        dataset.optimize.compact_files(
            target_rows_per_fragment=target, defer_index_remap=number < 3
        )
        assert fragments_of_groups(dataset)
        check_every_row(dataset, before, stable=False)
        dataset.delete(f"i % 29 = {number}")
        before = before.filter(np.asarray(before["i"]) % 29 != number)
    assert dataset.stats.index_stats("i_idx")["num_unindexed_rows"] == 0
