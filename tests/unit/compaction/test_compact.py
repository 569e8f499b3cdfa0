"""How the work of a compaction is divided: tasks at once, and smaller tasks after conflicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

import lance_core as lance
from lance_core_compaction import compact as compacting
from tests.each_case import each_case


@each_case(
    "processors, columns, mode, at_once",
    [
        (2, 2, "reencode", 1),
        (2, 1, "reencode", 2),
        (8, 9, "reencode", 5),  # there are no more tasks
        (2, 2, "try_binary_copy", 2),
    ],
)
def test_one_task_at_a_time_is_encoded_if_its_columns_use_all_processors(
    tmp_path: Path, processors: int, columns: int, mode: str, at_once: int
) -> None:
    uri = str(tmp_path / "t")
    rows = pa.table({f"c{number}": range(40) for number in range(columns)})
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=4)
    dataset.delete("c0 % 2 = 0")
    with (
        mock.patch.object(compacting, "num_threads", return_value=processors),
        mock.patch.object(compacting, "column_threads", return_value=min(4, processors)),
        mock.patch.object(compacting, "in_order", wraps=compacting.in_order) as run,
    ):
        dataset.optimize.compact_files(target_rows_per_fragment=4, compaction_mode=mode)
    assert [call.args[2] for call in run.call_args_list] == ([at_once] if at_once > 1 else [])
    assert dataset.count_rows() == 20


@each_case(
    "count, size, expected",
    [
        (7, 3, [[0, 1, 2], [3, 4, 5, 6]]),
        (8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (6, 3, [[0, 1, 2], [3, 4, 5]]),
        (3, 2, [[0, 1, 2]]),
        (1, 2, [[0]]),
    ],
)
def test_no_fragment_of_a_task_is_left_alone(
    count: int, size: int, expected: list[list[int]]
) -> None:
    task: list[Any] = list(range(count))
    assert list(compacting._pieces(task, size)) == expected
