"""Planning a compaction of many fragments decodes none of them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import lance_core as lance
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.optimize import Compaction, CompactionPlan, CompactionTask
from tests.unit.compaction.compaction_tables import table_of
from tests.unit.decoded_fragments import decoded_fragments


def test_a_plan_decodes_a_fragment_when_its_task_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.dataset(table_of(str(tmp_path / "t"), [10] * 40).uri)

    with decoded_fragments(monkeypatch) as calls:
        plan = Compaction.plan(dataset, {"target_rows_per_fragment": 100})
        assert plan.num_tasks() == 4
        assert calls == []
        assert [fragment.id for fragment in plan.tasks[1].fragments] == list(range(10, 20))
        assert sum(calls) == 10


def test_a_planned_task_is_a_value_like_others(tmp_path: Path) -> None:
    dataset = table_of(str(tmp_path / "t"), [10] * 4)
    task, again, pickled, copied = (
        Compaction.plan(dataset, {"target_rows_per_fragment": 100}).tasks[0] for _ in range(4)
    )
    plain = CompactionTask.from_json(again.json())
    assert pickle.loads(pickle.dumps(pickled)) == plain == task == copy.copy(copied)
    assert repr(plain) == repr(task)
    assert all(isinstance(fragment, FragmentMetadata) for fragment in task.fragments)
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": 100})
    assert CompactionPlan.from_json(plan.json()) == plan
    with pytest.raises(AttributeError, match="no attribute 'rows'"):
        task.rows  # type: ignore[attr-defined]  # noqa: B018
