"""Rows that satisfy a condition are replaced by written ones, in one commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import (
    AlreadyCommittedError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from lance_core.fragment import FragmentMetadata, write_fragments
from lance_core.schema import LanceSchema
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file

ROWS = pa.table({"id": range(6), "day": ["a", "a", "b", "b", "c", "c"]})


@pytest.fixture
def uri(tmp_path: Path) -> str:
    lance_core.write_dataset(ROWS, tmp_path / "t.lance", max_rows_per_file=3)
    return str(tmp_path / "t.lance")


def new_rows(uri: str, day: str, *ids: int) -> list[FragmentMetadata]:
    written = write_fragments(pa.table({"id": ids, "day": len(ids) * [day]}), uri)
    assert isinstance(written, list)
    return written


def ids(uri: str) -> list[int]:
    return sorted(lance_core.dataset(uri).to_table()["id"].to_pylist())


def deletion_files(uri: str) -> list[Path]:
    return list(Path(uri, "_deletions").glob("*"))


@pytest.mark.parametrize(
    ("where", "count", "left"),
    [
        ("day = 'b'", 2, [0, 1, 4, 5]),
        ("id < 3", 3, [3, 4, 5]),
        ("day = 'z'", 0, [0, 1, 2, 3, 4, 5]),
        ("true", 6, []),
        ("false", 0, [0, 1, 2, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("stable", [False, True])
def test_it_is_one_version(
    where: str, count: int, left: list[int], stable: bool, tmp_path: Path
) -> None:
    uri = str(tmp_path / "t.lance")
    table = lance_core.write_dataset(ROWS, uri, max_rows_per_file=3, enable_stable_row_ids=stable)
    rows = new_rows(uri, "z", 7, 8)
    properties = {"job": "nightly"}
    result = table.replace_rows(
        where, rows, transaction_uuid="abc", transaction_properties=properties
    )
    assert result == {"num_deleted_rows": count}
    assert (table.version, ids(uri)) == (2, [*left, 7, 8])
    made_by = table.read_transaction(2)
    assert made_by is not None
    assert (made_by.uuid, made_by.transaction_properties) == ("abc", properties)


def test_a_change_of_the_same_rows_is_a_conflict(uri: str) -> None:
    table, other = lance_core.dataset(uri), lance_core.dataset(uri)
    other.update({"id": "id + 10"}, where="id = 2")
    with pytest.raises(RetryableCommitConflictError):
        table.replace_rows("id = 2", new_rows(uri, "b", 2))
    assert len(deletion_files(uri)) == 1
    other.delete("id = 0")
    table.replace_rows("id = 1", new_rows(uri, "a", 9))
    assert ids(uri) == [3, 4, 5, 9, 12]


@pytest.mark.parametrize("verb", ["append", "replace", "update"])
def test_rows_that_others_add_for_the_condition_are_a_conflict(uri: str, verb: str) -> None:
    table, other = lance_core.dataset(uri), lance_core.dataset(uri)
    if verb == "append":
        other.insert(pa.table({"id": [8], "day": ["z"]}))
    elif verb == "replace":
        other.replace_rows("day = 'z'", new_rows(uri, "z", 8))
    else:
        other.update({"day": "'z'"}, where="id = 0")
    with pytest.raises(RetryableCommitConflictError, match="added rows that satisfy"):
        table.replace_rows("day = 'z'", new_rows(uri, "z", 9))
    table.replace_rows("day = 'y'", new_rows(uri, "y", 10))
    assert 10 in ids(uri)
    assert 9 not in ids(uri)


def test_it_is_committed_once(uri: str) -> None:
    table, other = lance_core.dataset(uri), lance_core.dataset(uri)
    other.insert(ROWS, transaction_properties={"job": "1"})
    with pytest.raises(AlreadyCommittedError):
        table.replace_rows("true", [], is_committed=lambda properties: "job" in properties)
    assert len(ids(uri)) == 12


@pytest.mark.parametrize("where", ["nothing = 1", "id +", "id", 7, None])
def test_other_conditions_are_refused(uri: str, where: str) -> None:
    with pytest.raises(InvalidInputError):
        lance_core.dataset(uri).replace_rows(where, [])
    assert lance_core.dataset(uri).version == 1


def test_new_columns_in_a_table_without_a_highest_fragment_id(uri: str) -> None:
    (path,) = Path(uri, "_versions").glob("*.manifest")
    file = parse_manifest_file(path.read_bytes())
    old = replace(file, manifest=replace(file.manifest, max_fragment_id=None))
    path.write_bytes(serialize_manifest_file(old))
    dataset = lance_core.dataset(uri)
    schema = LanceSchema.from_pyarrow(dataset.schema.append(pa.field("more", pa.int64())))
    dataset.replace_rows("day = 'b'", new_rows(uri, "b", 7), schema=schema)
    assert [one.fragment_id for one in dataset.get_fragments()] == [0, 1, 2]
    assert ids(uri) == [0, 1, 4, 5, 7]
