"""Changes that are committed at most once: found in the history, and during a commit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark.write.idempotent_commit import CommitKey

OWNER, NUMBER = "owner", "number"


def key(number: int, owner: str = "load") -> CommitKey:
    return CommitKey(OWNER, owner, NUMBER, number)


def commit(uri: Path, found: CommitKey | None = None) -> lance_core.LanceDataset:
    rows = pa.table({"id": [1]})
    properties = None if found is None else found.properties
    return lance_core.write_dataset(rows, uri, mode="append", transaction_properties=properties)


def test_the_last_change_of_the_owner_decides(tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    commit(uri, key(1))
    commit(uri, key(9, "other"))
    dataset = commit(uri, key(2))
    assert [key(number).find(dataset) for number in (1, 2, 3)] == [True, True, False]
    assert not key(0, "nobody").find(dataset)


def test_a_change_is_looked_for_in_a_bounded_number_of_versions(tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    commit(uri, key(1))
    for _ in range(19):
        dataset = commit(uri)
    assert [key(1).find(dataset, look_back) for look_back in (1, 16, 19, 20)] == [
        *(False, False, False),
        True,
    ]


def test_a_number_that_is_not_one_is_an_error(tmp_path: Path) -> None:
    broken = {OWNER: "load", NUMBER: "x"}
    dataset = lance_core.write_dataset(
        pa.table({"id": [1]}), tmp_path / "t.lance", transaction_properties=broken
    )
    with pytest.raises(InvalidInputError, match="'number' with the value 'x'"):
        key(1).find(dataset)
