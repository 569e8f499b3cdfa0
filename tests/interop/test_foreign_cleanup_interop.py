"""Writers beside pylance's cleanup, which removes versions that have only just been superseded."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.commits import loop
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import CommitError, CommitUnknownError

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

CLEANUPS = {
    "interval and age": {"interval": "1", "older_than": "0s"},
    "versions to keep": {"interval": "1", "retain_versions": "1"},
}
"""Automatic cleanups that leave nothing but the newest version."""

CHANGES: dict[str, Callable[[Any], Any]] = {
    "append": lambda table: lance_core.write_dataset(rows(7), table, mode="append"),
    "delete": lambda table: table.delete("x = 1"),
    "delete of all": lambda table: table.delete("true"),
    "overwrite": lambda table: lance_core.write_dataset(rows(7), table, mode="overwrite"),
    "config": lambda table: table.update_config({"a": "b"}),
}


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def table_with_cleanup(place: str, cleanup: dict[str, str]) -> None:
    """A table of two versions, which pylance cleans up after each of its commits."""
    pylance.write_dataset(rows(1, 2, 3), place)
    config = {f"lance.auto_cleanup.{key}": value for key, value in cleanup.items()}
    pylance.dataset(place).update_config(config)


def stop_before_publishing(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """The next commit of ours is stopped where it sends its manifest; ``meanwhile`` happens."""
    commit = PutIfAbsentCommitHandler.commit
    pending = [meanwhile]

    def stopped(self: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
        while pending:
            pending.pop()()
        return commit(self, candidate)

    monkeypatch.setattr(PutIfAbsentCommitHandler, "commit", stopped)


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_stopped_writer_is_told_no_version_that_the_history_goes_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, is_slow: bool
) -> None:
    seconds = -1.0 if is_slow else math.inf
    monkeypatch.setattr(loop, "slow_after", lambda usual: seconds, raising=False)
    monkeypatch.setattr(loop, "SLOW", seconds, raising=False)
    for cleanup in CLEANUPS:
        _stopped_beside_others(tmp_path / cleanup, monkeypatch, change, cleanup)


def _stopped_beside_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: str, cleanup: str
) -> None:
    place = str(folder)
    table_with_cleanup(place, CLEANUPS[cleanup])
    ours = lance_core.dataset(place)

    def others_append_and_clean_up() -> None:
        for value in (10, 20, 30):
            pylance.write_dataset(rows(value), place, mode="append")
        assert [one["version"] for one in pylance.dataset(place).versions()] == [5]

    stop_before_publishing(monkeypatch, others_append_and_clean_up)
    with pytest.raises(CommitError) as caught:
        CHANGES[change](ours)
    newest = lance_core.dataset(place)
    assert newest.version == 5
    assert sorted(newest.to_table()["x"].to_pylist()) == [1, 2, 3, 10, 20, 30]
    if isinstance(caught.value, CommitUnknownError):
        with pytest.raises(CommitUnknownError):
            lance_core.commit.resolve(place, caught.value)


def test_a_writer_that_others_follow_at_once_has_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pylance builds on the version and cleans it up before its writer looks at the table."""
    place = str(tmp_path / "table")
    table_with_cleanup(place, CLEANUPS["versions to keep"])
    ours = lance_core.dataset(place)
    commit = PutIfAbsentCommitHandler.commit

    def followed(self: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
        location = commit(self, candidate)
        pylance.write_dataset(rows(10), place, mode="append")
        return location

    monkeypatch.setattr(PutIfAbsentCommitHandler, "commit", followed)
    for change in ("append", "delete", "config"):
        assert CHANGES[change](ours) is not None or ours.version
        ours = lance_core.dataset(place)
    assert sorted(ours.to_table()["x"].to_pylist()) == [2, 3, 7, 10, 10, 10]
    assert ours.config()["a"] == "b"


@pytest.mark.parametrize("cleaner", [pylance, lance_core], ids=["theirs", "ours"])
@pytest.mark.parametrize("unverified", [False, True])
def test_fragments_that_a_cleanup_has_removed_are_not_committed(
    tmp_path: Path, cleaner: Any, unverified: bool
) -> None:
    place = tmp_path / "table"
    lance_core.write_dataset(rows(1), place)
    fragments = lance_core.fragment.write_fragments(rows(2), place)
    path = f"data/{fragments[0].files[0].path}"
    if unverified:
        cleaner.dataset(str(place)).cleanup_old_versions(timedelta(0), delete_unverified=True)
    else:
        week_ago = time.time() - 8 * 86400
        os.utime(place / path, (week_ago, week_ago))
        cleaner.dataset(str(place)).cleanup_old_versions()
    assert not (place / path).exists()
    append = lance_core.LanceOperation.Append(fragments)
    with pytest.raises(lance_core.errors.CommitFileMissingError, match="cleanup") as caught:
        lance_core.LanceDataset.commit(place, append, read_version=1)
    assert caught.value.path == path
    assert pylance.dataset(str(place)).to_table() == rows(1)


def test_a_writer_that_is_stopped_while_its_files_are_removed_leaves_a_table_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right before it publishes: the version that nobody can read is removed again."""
    monkeypatch.setattr(loop, "slow_after", lambda usual: math.inf, raising=False)
    place = str(tmp_path / "table")
    lance_core.write_dataset(rows(1), place)

    def clean_up() -> None:
        pylance.dataset(place).cleanup_old_versions(timedelta(0), delete_unverified=True)

    stop_before_publishing(monkeypatch, clean_up)
    with pytest.raises(lance_core.errors.CommitFileMissingError):
        lance_core.write_dataset(rows(2), place, mode="append")
    assert lance_core.dataset(place).to_table() == rows(1)
    assert lance_core.write_dataset(rows(3), place, mode="append").to_table().num_rows == 2
