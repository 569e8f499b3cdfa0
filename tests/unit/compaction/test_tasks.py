"""Tasks and results as values."""

from __future__ import annotations

import dataclasses

import pytest

from lance_core.errors import InvalidInputError
from lance_core.optimize import Compaction, CompactionMetrics
from tests.unit.compaction.compaction_tables import table_of


def test_a_task_of_a_fragment_that_the_table_lacks_is_refused(uri: str) -> None:
    dataset = table_of(uri, [10] * 4)
    task, *_ = Compaction.plan(dataset, {}).tasks
    task.fragments[-1] = dataclasses.replace(task.fragments[-1], id=9)
    with pytest.raises(InvalidInputError, match="does not have fragment 9 of this compaction"):
        task.execute(dataset)


def test_metrics_add_up() -> None:
    one = CompactionMetrics(fragments_removed=3, bytes_written=10)
    other = CompactionMetrics(fragments_removed=2, fragments_added=1, bytes_written=5)
    expected = CompactionMetrics(fragments_removed=5, fragments_added=1, bytes_written=15)
    assert one + other == expected
