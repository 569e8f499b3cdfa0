"""Properties that all commits in a context have."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.engines import commit_properties
from lance_core.errors import AlreadyCommittedError, InvalidInputError


def properties(dataset: lance_core.LanceDataset, count: int) -> list[dict[str, str]]:
    made = dataset.get_transactions(count)
    return [dict(one.transaction_properties or {}) for one in made if one is not None]


def test_all_commits_in_a_context_have_its_properties(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "n": [0, 0]})
    with commit_properties({"by": "job", "who": "context"}):
        dataset = lance_core.write_dataset(table, tmp_path / "t")
        dataset.drop_columns(["n"])
        dataset.insert(table.select(["id"]), transaction_properties={"who": "insert"})
    dataset.delete("id = 1")
    given = {"by": "job", "who": "context"}
    assert properties(dataset, 4) == [{}, given | {"who": "insert"}, given, given]


def test_a_change_is_not_committed_again(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(pa.table({"id": [1, 2], "n": [0, 0]}), tmp_path / "t")
    other = lance_core.dataset(tmp_path / "t")
    with commit_properties({"job": "7"}, lambda made: made.get("job") == "7"):
        other.update_config({"a": "b"})
        with pytest.raises(AlreadyCommittedError, match="version 2"):
            dataset.update_config({"c": "d"})


def test_properties_are_texts() -> None:
    with pytest.raises(InvalidInputError, match="not text"), commit_properties({"n": 1}):  # type: ignore[dict-item]
        pass
