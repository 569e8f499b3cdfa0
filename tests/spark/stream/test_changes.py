"""Batch reads of the changes that versions made, without a session."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from pyspark_lance import DefaultSource
from tests.each_case import each_case
from tests.spark.stream.micro_batches import append


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    """Versions: two rows, a third, an update, a delete."""
    uri = tmp_path / "t.lance"
    append(uri, 1, 2, enable_stable_row_ids=True)
    dataset = append(uri, 3)
    dataset.update({"value": "9"}, "id = 1")
    dataset.delete("id = 2")
    return uri


def changes(uri: Path, **options: Any) -> list[tuple[Any, ...]]:
    """The id, the value, the change and the version of each changed row."""
    given = {name: str(value) for name, value in {"readChangeFeed": True, **options}.items()}
    source = DefaultSource({"path": str(uri), **given})
    reader = pickle.loads(pickle.dumps(source.reader(source.schema())))
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    rows = pa.Table.from_batches(batches).to_pylist() if batches else []
    return [tuple(row.values()) for row in rows]


def test_both_bounds_are_included(uri: Path) -> None:
    third = [(3, 0, "insert", 2)]
    update = [(1, 0, "update_preimage", 3), (1, 9, "update_postimage", 3)]
    delete = [(2, 0, "delete", 4)]
    assert changes(uri, startingVersion=2, endingVersion=3) == third + update
    assert changes(uri, startingVersion=3) == update + delete
    assert changes(uri, starting_version="earliest", ending_version=2)[2:] == third
    at = {n: lance_core.dataset(uri, n).get_version()["timestamp"].isoformat() for n in (3, 4)}
    assert changes(uri, startingTimestamp=at[4]) == delete
    assert changes(uri, startingVersion=3, endingTimestamp=at[3]) == update
    assert changes(uri, startingVersion=5) == []
    assert changes(uri, startingVersion=4, columns="id") == [(2, "delete", 4)]


@each_case(
    ("options", "match"),
    [
        ({}, "starting_version"),
        ({"startingVersion": 4, "endingVersion": 2}, "before the first"),
        ({"startingVersion": 3, "endingVersion": 9}, "newest version is 4"),
        ({"startingVersion": 9}, "newest version is 4"),
        ({"startingVersion": 1, "max_rows_per_trigger": 1}, "readStream"),
        ({"startingVersion": 1, "versionAsOf": 1}, "version"),
        ({"startingVersion": 1, "endingVersion": 2, "endingTimestamp": "2030-01-01"}, "one of"),
        ({"readChangeFeed": False, "endingVersion": 2}, "read_change_feed"),
    ],
)
def test_wrong_options_are_refused(uri: Path, options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        changes(uri, **options)


def test_a_removed_version_is_an_error(uri: Path) -> None:
    lance_core.dataset(uri).cleanup_old_versions(timedelta(0), delete_unverified=True)
    with pytest.raises(DatasetNotFoundError, match="version 2"):
        changes(uri, startingVersion=2)


def test_a_stream_has_no_end(uri: Path) -> None:
    source = DefaultSource({"path": str(uri), "endingVersion": "2"})
    with pytest.raises(InvalidInputError, match="ending_version"):
        source.streamReader(source.schema())
