"""Cleaning up through a dataset: arguments, results, warnings, and after commits."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.maintenance.auto_cleanup import duration
from lance_core.errors import CleanupError, InvalidInputError
from tests.each_case import each_case

ROWS = pa.table({"x": [1, 2, 3]})
QUIETLY = {"durability": "fast"}


def write(path: Path) -> Any:
    return lance_core.write_dataset(ROWS, path, mode="overwrite", storage_options=QUIETLY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table of four versions that share no file."""
    for _ in range(4):
        write(tmp_path / "table")
    return tmp_path / "table"


def grow_old(path: Path, seconds: float = 3600) -> None:
    moment = time.time() - seconds
    for file in path.rglob("*.*"):
        if file.is_file():
            os.utime(file, (moment, moment))


def versions(path: Path) -> list[int]:
    return [found["version"] for found in lance_core.dataset(path).versions()]


def test_totals_and_what_is_left(path: Path) -> None:
    grow_old(path)
    before = {file: file.stat().st_size for file in path.rglob("*.*") if file.is_file()}
    stats = lance_core.dataset(path).cleanup_old_versions(retain_versions=1)
    removed = sum(size for file, size in before.items() if not file.exists())
    assert stats.old_versions == 3
    assert stats.data_files_removed == stats.transaction_files_removed == 3
    assert stats.deletion_files_removed == stats.index_files_removed == stats.failed_deletes == 0
    assert stats.bytes_removed == removed
    assert versions(path) == [4]
    assert lance_core.dataset(path).to_table() == ROWS
    lance_core.dataset(path).validate()


def test_an_explanation_says_what_stays_and_removes_nothing(path: Path) -> None:
    dataset = lance_core.dataset(path)
    before = sorted(path.rglob("*"))
    told = dataset.explain_cleanup_old_versions(retain_versions=1, include_files=True)
    assert told.stats.old_versions == 0
    assert [kept.version for kept in told.kept_versions] == [1, 2, 3]
    assert "writer may still be at work" in told.kept_versions[0].reason
    assert len(told.warnings) == 1
    grow_old(path)
    told = dataset.explain_cleanup_old_versions(retain_versions=1, include_files=True, max_files=5)
    assert told.stats.old_versions == 3
    assert (len(told.candidate_files), told.candidate_files_truncated) == (5, True)
    assert told.kept_versions == []
    assert sorted(path.rglob("*")) == before


def test_one_warning_tells_of_versions_that_stay_for_other_writers(path: Path) -> None:
    with pytest.warns(UserWarning, match="3 version.*less than 1200 s ago") as caught:
        lance_core.dataset(path).cleanup_old_versions(older_than=timedelta(0))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert versions(path) == [1, 2, 3, 4]


def test_nothing_given_means_two_weeks(path: Path) -> None:
    grow_old(path, 20 * 86400)  # of the files; the versions were made just now
    assert lance_core.dataset(path).cleanup_old_versions().old_versions == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"retain_versions": 0}, InvalidInputError),
        ({"retain_versions": -1}, InvalidInputError),
        ({"retain_versions": 1.5}, TypeError),
        ({"older_than": 5}, TypeError),
        ({"versions": []}, InvalidInputError),
        ({"versions": [-1]}, InvalidInputError),
        ({"versions": ["1"]}, TypeError),
        ({"versions": [None]}, TypeError),
        ({"versions": "12"}, TypeError),
        ({"versions": 3}, TypeError),
        ({"delete_rate_limit": 0}, InvalidInputError),
        ({"delete_rate_limit": 1.5}, TypeError),
        ({"delete_concurrency": 0}, InvalidInputError),
        ({"older": timedelta(1)}, TypeError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    path: Path, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        lance_core.dataset(path).cleanup_old_versions(**arguments)
    assert versions(path) == [1, 2, 3, 4]


def test_an_explanation_of_no_files_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="max_files must be positive"):
        lance_core.dataset(path).explain_cleanup_old_versions(max_files=0)


@pytest.mark.parametrize(
    "options", [{"delete_concurrency": 1}, {"delete_rate_limit": 10_000}, {"delete_concurrency": 9}]
)
def test_how_fast_does_not_matter_for_what(path: Path, options: dict[str, Any]) -> None:
    grow_old(path)
    stats = lance_core.dataset(path).cleanup_old_versions(retain_versions=2, **options)
    assert stats.old_versions == 2
    assert versions(path) == [3, 4]


def test_a_tag_is_in_the_way_unless_told_otherwise(path: Path) -> None:
    grow_old(path)
    lance_core.dataset(path).tags.create("first", 1)
    with pytest.raises(CleanupError, match="first"):
        lance_core.dataset(path).cleanup_old_versions(retain_versions=1)
    lance_core.dataset(path).cleanup_old_versions(
        retain_versions=1, error_if_tagged_old_versions=False
    )
    assert versions(path) == [1, 4]


def test_versions_from_the_open_one_on_stay(path: Path) -> None:
    lance_core.dataset(path, version=3).cleanup_old_versions(
        retain_versions=1, delete_unverified=True
    )
    assert versions(path) == [3, 4]


# --- after commits -------------------------------------------------------------------------------


def automatic(path: Path, **config: str) -> None:
    lance_core.dataset(path, storage_options=QUIETLY).update_config(
        {f"lance.auto_cleanup.{name}": value for name, value in config.items()}
    )


def test_cleanup_runs_after_every_so_many_commits(path: Path) -> None:
    automatic(path, interval="3", retain_versions="2")  # version 5
    grow_old(path)
    write(path)  # version 6: 5 was superseded just now
    assert versions(path) == [5, 6]
    grow_old(path)
    write(path)
    assert versions(path) == [5, 6, 7]


@pytest.mark.parametrize("config", [{"older_than": "0s"}, {"interval": "100", "older_than": "0s"}])
def test_cleanup_waits_for_its_interval(path: Path, config: dict[str, str]) -> None:
    automatic(path, **config)
    grow_old(path)
    write(path)
    assert versions(path) == [1, 2, 3, 4, 5, 6]


def test_automatic_cleanup_spares_tagged_versions(path: Path) -> None:
    lance_core.dataset(path).tags.create("first", 1)
    automatic(path, interval="1", older_than="0s")
    grow_old(path)
    write(path)
    assert versions(path) == [1, 5, 6]


@pytest.mark.parametrize(
    "config",
    [
        {"interval": "often"},
        {"interval": "-1"},
        {"interval": "1", "older_than": "some time"},
        {"interval": "1", "retain_versions": "0"},
        {"interval": "1", "retain_versions": "1", "delete_rate_limit": "fast"},
    ],
)
def test_a_cleanup_that_fails_does_not_fail_the_commit(
    path: Path, config: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    automatic(path, **config)
    grow_old(path)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "lance_core"):
        write(path)
    assert versions(path) == [1, 2, 3, 4, 5, 6]
    assert "the commit succeeded, the cleanup after it failed" in caplog.text


@each_case(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("1209600s", 1209600),
        ("14d", 14 * 86400),
        ("2 weeks", 14 * 86400),
        ("1h 30m", 5400),
        ("1h2min3sec", 3723),
        ("250ms", 0.25),
    ],
)
def test_lengths_of_time_are_read(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@each_case(
    "text",
    ["", "5", "d", "-1d", "1.5h", "1 fortnight", "9" * 30 + "y", "9" * 1_000_000, " " * 1_000_000],
    ids=range(9),
)
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        duration(text)


def test_a_branch_is_cleaned_up_on_its_own(path: Path) -> None:
    dataset = lance_core.dataset(path, storage_options=QUIETLY)
    branch = dataset.create_branch("dev", 2)
    for _ in range(3):
        branch.insert(ROWS)
    dataset.tags.create("of-dev", ("dev", 3))
    grow_old(path)
    stats = branch.cleanup_old_versions(retain_versions=1, error_if_tagged_old_versions=False)
    assert stats.old_versions == 2
    assert versions(path) == [1, 2, 3, 4]
    tag = json.loads((path / "_refs/tags/of-dev.json").read_text())
    assert [found["version"] for found in branch.versions()] == [tag["version"], 5]
    grow_old(path)
    dataset.cleanup_old_versions(retain_versions=1)
    assert versions(path) == [2, 4]
    assert lance_core.dataset(path).checkout_version(("dev", None)).count_rows() == 12
