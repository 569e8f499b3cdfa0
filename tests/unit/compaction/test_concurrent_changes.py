"""Indices that other writers commit while tasks run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse
from lance_core.errors import RetryableCommitConflictError
from lance_core.optimize import Compaction
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import table_of, with_index


@each_case(
    "covered, defer, is_conflict",
    [
        ([0, 1, 2], False, True),
        ([0, 1, 2], True, False),
        ([3], False, False),
        (None, False, True),
        (None, True, True),
    ],
)
def test_only_an_index_that_cannot_follow_the_rows_is_a_conflict(
    tmp_path: Path, covered: list[int] | None, defer: bool, is_conflict: bool
) -> None:
    dataset = table_of(str(tmp_path / "t"), [10] * 3 + [100])
    options = {"target_rows_per_fragment": 100, "defer_index_remap": defer}
    (task,) = Compaction.plan(dataset, options).tasks
    results = [task.execute(dataset)]
    with_index(dataset, covered, "OfALaterRelease")
    if is_conflict:
        with pytest.raises(RetryableCommitConflictError, match="and cannot be updated here"):
            Compaction.commit(dataset, results)
        assert len(dataset.get_fragments()) == 4
        return
    Compaction.commit(dataset, results)
    assert [one.count_rows() for one in dataset.get_fragments()] == [100, 30]
    assert len(fragment_reuse(dataset.snapshot).versions) == defer
