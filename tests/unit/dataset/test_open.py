"""Opening a table: the newest version, one by number, one by time."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.commits.base import ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot import open_table
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    InvalidRefError,
    LanceError,
    RefNotFoundError,
)
from tests.each_case import each_case
from tests.table_surgery import edit_manifest

Rows = Callable[..., pa.Table]


@pytest.fixture
def three_versions(uri: str) -> str:
    """Versions of 1, 2 and 3 rows, made at different times."""
    for number in range(3):
        lance.write_dataset({"i": [number]}, uri, mode="append")
        time.sleep(0.002)
    return uri


def test_without_a_version_the_newest_is_opened(three_versions: str) -> None:
    dataset = lance.dataset(three_versions)
    assert (dataset.version, dataset.latest_version, len(dataset)) == (3, 3, 3)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_version_can_be_opened_by_its_number(three_versions: str, number: int) -> None:
    for version in (number, np.int64(number), (None, number), ("main", number)):
        dataset = lance.dataset(three_versions, version=version)
        assert dataset.version == number
        assert dataset.to_table().column("i").to_pylist() == list(range(number))
        assert dataset.latest_version == 3


@pytest.mark.parametrize("version", [0, -1, 4, 2**63 - 1, 2**63, 2**64, 2**70])
def test_a_version_that_is_not_there_is_not_found(three_versions: str, version: int) -> None:
    with pytest.raises(DatasetNotFoundError, match="no version"):
        lance.dataset(three_versions, version=version)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("tag", RefNotFoundError),
        ("../tag", InvalidRefError),
        (("branch", 1), DatasetNotFoundError),
        (("a/../b", 1), InvalidRefError),
        (1.0, InvalidInputError),
        ((1, 2, 3), InvalidInputError),
    ],
)
def test_what_is_no_version_is_refused(
    three_versions: str, version: Any, error: type[LanceError]
) -> None:
    with pytest.raises(error):
        lance.dataset(three_versions, version=version)


def test_the_version_of_a_moment_is_the_newest_that_is_not_newer(three_versions: str) -> None:
    made = [version["timestamp"] for version in lance.dataset(three_versions).versions()]
    assert made == sorted(made)
    for number, moment in enumerate(made, start=1):
        assert lance.dataset(three_versions, asof=moment).version == number
        assert lance.dataset(three_versions, asof=str(moment)).version == number
        zoned = moment.astimezone(UTC)
        assert lance.dataset(three_versions, asof=zoned).version == number
    assert lance.dataset(three_versions, asof=made[2] + timedelta(days=9)).version == 3
    with pytest.raises(DatasetNotFoundError, match="earlier than the first"):
        lance.dataset(three_versions, asof=made[0] - timedelta(microseconds=1))


def test_a_damaged_version_matters_only_to_moments_that_it_may_answer(three_versions: str) -> None:
    made = [version["timestamp"] for version in lance.dataset(three_versions).versions()]
    newest = max(Path(three_versions, "_versions").iterdir(), key=lambda path: path.stat().st_mtime)
    newest.write_bytes(newest.read_bytes()[:-20])
    assert lance.dataset(three_versions, asof=made[0]).version == 1
    for moment in (made[1], made[2]):
        with pytest.raises(CorruptFileError):
            lance.dataset(three_versions, asof=moment)
    with pytest.raises(DatasetNotFoundError, match="earlier than the first"):
        lance.dataset(three_versions, asof=made[0] - timedelta(microseconds=1))


@pytest.mark.parametrize("asof", ["yesterday", 5, ""])
def test_what_is_no_moment_is_refused(three_versions: str, asof: Any) -> None:
    with pytest.raises(InvalidInputError):
        lance.dataset(three_versions, asof=asof)


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
@pytest.mark.parametrize("zone", ["UTC-14", "UTC+12"])
def test_moments_at_the_ends_of_the_calendar_are_found_or_refused(
    three_versions: str, moment: datetime, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with contextlib.suppress(InvalidInputError, DatasetNotFoundError):
            assert lance.dataset(three_versions, asof=moment).version == 3
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_version_counts_more_than_a_moment(three_versions: str) -> None:
    assert lance.dataset(three_versions, version=1, asof=datetime.max).version == 1


def test_a_checked_out_version_is_a_dataset_of_its_own(three_versions: str) -> None:
    dataset = lance.dataset(three_versions)
    older = dataset.checkout_version(1)
    assert (older.version, len(older)) == (1, 1)
    assert (dataset.version, len(dataset)) == (3, 3)
    assert dataset.checkout_version((None, None)).version == 3


def test_checking_out_the_latest_moves_a_dataset(three_versions: str) -> None:
    dataset = lance.dataset(three_versions, version=1)
    lance.write_dataset({"i": [9]}, three_versions, mode="append")
    assert (dataset.version, dataset.latest_version) == (1, 4)
    dataset.checkout_latest()
    assert dataset.to_table().column("i").to_pylist() == [0, 1, 2, 9]


def test_versions_are_described_with_their_totals(three_versions: str) -> None:
    dataset = lance.dataset(three_versions)
    described = dataset.versions()
    assert [version["version"] for version in described] == [1, 2, 3]
    assert described[2] == dataset.get_version()
    size = sum(path.stat().st_size for path in Path(three_versions, "data").iterdir())
    assert described[2]["metadata"] == {
        "total_data_file_rows": "3",
        "total_data_files": "3",
        "total_deletion_file_rows": "0",
        "total_deletion_files": "0",
        "total_files_size": str(size),
        "total_fragments": "3",
        "total_rows": "3",
    }


def test_a_version_without_a_time_is_as_old_as_can_be(uri: str) -> None:
    dataset = lance.write_dataset({"i": [1]}, uri)
    edit_manifest(dataset, lambda manifest: manifest.ClearField("timestamp"))
    assert lance.dataset(uri, asof="1970-01-01").version == 1
    assert lance.dataset(uri).versions()[0]["timestamp"] == datetime(1970, 1, 1)


@pytest.mark.parametrize("make", [lambda path: None, os.mkdir])
def test_where_there_is_no_table_none_is_found(uri: str, make: Callable[[str], None]) -> None:
    make(uri)
    with pytest.raises(DatasetNotFoundError, match="was not found"):
        lance.dataset(uri)


def test_a_missing_table_is_an_error_of_the_kinds_that_callers_expect(uri: str) -> None:
    for kind in (OSError, ValueError, FileNotFoundError):
        with pytest.raises(kind):
            lance.dataset(uri)


def test_looking_for_a_table_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError):
        lance.dataset(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_texts_do_not_show_the_secrets_of_a_uri() -> None:
    with pytest.raises(InvalidInputError) as invalid:
        lance.dataset("memory://user:hunter2@host/table?key=hunter2")
    assert "hunter2" not in str(invalid.value)
    with pytest.raises(DatasetNotFoundError) as error:
        lance.dataset("memory://user:hunter2@host/table")
    assert "hunter2" not in str(error.value)
    dataset = lance.write_dataset({"i": [1]}, "memory://user:hunter2@host/shown")
    with pytest.raises(LanceError) as error:
        lance.write_dataset({"i": [1]}, dataset.uri)
    assert "hunter2" not in str(error.value)
    with pytest.raises(LanceError) as error:
        dataset.checkout_version(7)
    assert "hunter2" not in str(error.value)


def test_a_path_a_text_and_a_file_url_open_the_same_table(tmp_path: Path) -> None:
    path = tmp_path / "a b%20c"
    lance.write_dataset({"i": [1]}, path)
    url = "file://" + str(path).replace("%", "%25").replace(" ", "%20")
    for place in (path, str(path), url):
        assert lance.dataset(place).count_rows() == 1


def test_a_relative_path_and_a_home_directory_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    lance.write_dataset({"i": [1]}, "here")
    assert lance.dataset("~/here").count_rows() == 1


def test_unknown_arguments_are_refused_and_those_of_caches_ignored(three_versions: str) -> None:
    with pytest.warns(DeprecationWarning, match="use index_cache_size_bytes"):
        assert lance.dataset(three_versions, index_cache_size=3, session=None).version == 3
    with pytest.raises(TypeError, match="nonsense"):
        lance.dataset(three_versions, nonsense=1)
    with pytest.raises(TypeError, match="commit_lock"):
        lance.dataset(three_versions, commit_lock=5)


@each_case("uri", ["", 5, None, "nonsense://bucket/table", "ftp://x/y", "a\0b"])
def test_places_that_nothing_can_open_are_refused(uri: Any) -> None:
    with pytest.raises((LanceError, TypeError)):
        lance.dataset(uri)


def test_default_scan_options_apply_where_nothing_else_is_said(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(10), uri)
    defaults = {"with_row_id": True, "columns": ["i"], "filter": "i > 6"}
    dataset = lance.dataset(uri, default_scan_options=defaults)
    assert dataset.schema.names == ["i", "_rowid"]
    assert dataset.to_table().to_pydict() == {"i": [7, 8, 9], "_rowid": [7, 8, 9]}
    chosen = dataset.to_table(columns=["f"], with_row_id=False, filter="i < 2")
    assert chosen.to_pydict() == {"f": [0.0, 0.5]}
    assert dataset.checkout_version(1).schema.names == ["i", "_rowid"]
    with pytest.raises(InvalidInputError, match="Unknown option"):
        lance.dataset(uri, default_scan_options={"nonsense": 1}).to_table()


def test_a_copy_moves_on_its_own(three_versions: str) -> None:
    dataset = lance.dataset(three_versions, version=2)
    other = copy.copy(dataset)
    other.checkout_latest()
    assert (dataset.version, other.version) == (2, 3)


def test_a_dataset_tells_what_the_table_is(uri: str, some_rows: Rows) -> None:
    table = some_rows(3).replace_schema_metadata({"made by": "hand"})
    dataset = lance.write_dataset(table, uri)
    assert dataset.schema.equals(table.schema, check_metadata=True)
    assert dataset.schema_metadata == {"made by": "hand"}
    assert dataset.uri == uri
    assert dataset.data_storage_version == "2.2"
    assert dataset.max_field_id == len(list(dataset.snapshot.schema.walk())) - 1
    assert not dataset.has_stable_row_ids
    assert dataset.metadata == {}
    assert dataset.config() == {}


def test_the_newest_version_is_looked_for_again_if_it_was_cleaned_up_meanwhile(
    three_versions: str,
) -> None:
    opened = lance.dataset(three_versions)
    root = opened.snapshot.root

    class Late(PutIfAbsentCommitHandler):
        overtaken = False

        def latest(self) -> ManifestLocation | None:
            found = super().latest()
            if found is not None and not self.overtaken:
                self.overtaken = True
                lance.write_dataset({"i": [3]}, three_versions, mode="append")
                self.store.delete(found.path)
            return found

    late = open_table.open_version(dataclasses.replace(root, handler=Late(root.store)))
    assert late.version == 4


@each_case(
    ("flags", "data_format", "expected"), [(4, None, "2.0"), (0, "2.0", "2.0"), (0, None, "0.1")]
)
def test_a_table_that_never_had_a_file_has_the_version_of_its_manifest(
    flags: int, data_format: str | None, expected: str, tmp_path: Path
) -> None:
    empty = pa.table({"x": pa.array([], pa.int64())})
    dataset = lance.write_dataset(empty, tmp_path / "t", data_storage_version="2.1")

    def change(manifest: table_pb2.Manifest) -> None:
        manifest.ClearField("data_format")
        manifest.writer_feature_flags = flags
        if data_format is not None:
            manifest.data_format.file_format = "lance"
            manifest.data_format.version = data_format

    old = edit_manifest(dataset, change)
    assert old.data_storage_version == expected
    new = lance.write_dataset(pa.table({"x": [1]}), old, mode="append")
    assert new.data_storage_version == expected
    assert {file.file_version for one in new.snapshot.manifest.fragments for file in one.files} == {
        expected
    }
    assert new.to_table()["x"].to_pylist() == [1]
