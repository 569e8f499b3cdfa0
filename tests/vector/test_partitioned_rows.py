"""Encoded rows by partition, in memory and in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.training.partitioned_rows import PartitionedRows
from tests.each_case import each_case

ROWS, COUNT = 500, 7
RECORD = np.dtype([("code", np.uint8, (4,)), ("factor", np.float32)])


def some_rows(kind: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], Any]:
    random = np.random.default_rng(1)
    owners = random.integers(0, COUNT, ROWS)
    numbers = random.permutation(ROWS).astype(np.uint64)
    codes = random.integers(0, 256, (ROWS, 4)).astype(np.uint8)
    if kind == "records":
        codes = np.array([(tuple(row), sum(row)) for row in codes.tolist()], RECORD)
    return owners, numbers, codes


@each_case(
    "kind, memory", [(kind, memory) for kind in ("bytes", "records") for memory in (100, 1 << 20)]
)
def test_rows_come_back_by_partition_in_the_order_of_their_numbers(
    tmp_path: Path, kind: str, memory: int
) -> None:
    owners, numbers, codes = some_rows(kind)
    with PartitionedRows(COUNT, lambda: tmp_path, memory) as waiting:
        for start in range(0, ROWS, 120):
            some = slice(start, start + 120)
            waiting.add(owners[some], numbers[some], codes[some])
        assert len(list(tmp_path.iterdir())) == (memory == 100)
        waiting.replace(np.array([2]), 1)
        assert waiting.chosen.tolist() == [0, 1, 3, 4, 5, 6, 7]
        waiting.add(np.full(2, COUNT), np.array([9, 8], np.uint64), codes[:2])
        for number in range(COUNT):
            own = np.flatnonzero(owners == number)
            own = own[np.argsort(numbers[own])]
            assert waiting.lengths[number] == len(own)
            assert sorted(waiting.rows_of(number).tolist()) == numbers[own].tolist()
            for size in (None, 64):
                parts = list(waiting.slices(number, size))
                assert (len(parts) > 1) == (size is not None)
                assert np.concatenate([rows for rows, _ in parts]).tolist() == numbers[own].tolist()
                assert (np.concatenate([part for _, part in parts]) == codes[own]).all()
        rows, own_codes = waiting.partition(COUNT)
        assert rows.tolist() == [8, 9]
        assert (own_codes == codes[[1, 0]]).all()
