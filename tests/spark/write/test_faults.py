"""Jobs that fail, run twice or lose their driver: rows count once, all other files can be removed.

A killed driver is a job that stops between two steps; its successor plans the same write again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lance_core
from lance_core.errors import (
    CommitUnknownError,
    DatasetExistsError,
    InvalidInputError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core_spark.write.writer import LanceWriter, WrittenFragments
from tests.spark.write.jobs import copied, data_files, named_files, planned, rows, run, written

RUN = {"txn_app_id": "nightly", "txn_version": "7"}
SHAPES: dict[str, dict[str, str]] = {
    "append": {},
    "overwrite": {},
    "replace": {"replace_where": "day = 'mon'"},
}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    run(planned(tmp_path / "t.lance"), rows("tue", 1))
    return tmp_path / "t.lance"


def job_of(table: Path, shape: str, **options: str) -> LanceWriter:
    return planned(table, shape != "append", **SHAPES[shape], **{**RUN, **options})


def new_ids(table: Path) -> list[int]:
    return lance_core.dataset(table).to_table(filter="id > 1")["id"].to_pylist()


def check(table: Path, *ids: int) -> None:
    """The rows are there once, and a cleanup removes all files that no version names."""
    assert sorted(new_ids(table)) == list(ids)
    lance_core.dataset(table).cleanup_old_versions(
        older_than=timedelta(days=1), delete_unverified=True
    )
    assert data_files(table) == named_files(table)


def lost(*_: Any, **__: Any) -> None:
    raise CommitUnknownError("no answer")


def test_attempts_that_fail_or_run_twice_leave_nothing(table: Path, shape: str) -> None:
    job = job_of(table, shape)
    failing = iter([rows("mon", 9), rows("mon", 9).select(["day"])])
    with pytest.raises((LanceError, ValueError)):
        copied(job).write(failing)
    twice = [written(job, rows("mon", 2)) for _ in range(2)]  # a speculative attempt
    copied(job).commit([twice[1], written(job, rows("mon", 3)), written(job)])
    check(table, 2, 3)


def test_a_job_that_fails_for_good_is_aborted(table: Path, shape: str) -> None:
    before = data_files(table)
    job = job_of(table, shape)
    copied(job).abort([written(job, rows("mon", 2)), None])
    assert data_files(table) == before
    with pytest.raises(InvalidInputError, match="did not report"):
        copied(job).commit([written(job, rows("mon", 2)), None])
    check(table)


@pytest.mark.parametrize("step", ["planned", "written", "sent", "committed"])
def test_a_killed_driver_is_run_again(table: Path, shape: str, step: str) -> None:
    """``sent``: the commit of the killed driver lands while its successor works."""
    first = job_of(table, shape)
    messages: list[WrittenFragments | None] = []
    if step != "planned":
        messages = [written(first, rows("mon", 2)), written(first, rows("mon", 3))]
    if step == "committed":
        copied(first).commit(messages)
    again = job_of(table, shape)
    messages_again = [written(again, rows("mon", 2)), written(again, rows("mon", 3))]
    assert all(message.fragments for message in messages_again) == (step != "committed")
    if step == "sent":
        copied(first).commit(messages)
    copied(again).commit(messages_again)
    assert lance_core.dataset(table).version == 2
    check(table, 2, 3)


def test_a_commit_that_landed_without_an_answer_is_found_later(
    table: Path, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "replace_rows" if shape == "replace" else "commit"
    job = job_of(table, shape)
    messages = [written(job, rows("mon", 2))]
    really: Callable[..., Any] = getattr(lance_core.LanceDataset, name)

    def landed(*arguments: Any, **options: Any) -> None:
        really(*arguments, **options)
        raise CommitUnknownError("no answer")

    for answer in (lost, landed):
        with monkeypatch.context() as patch:
            patch.setattr(lance_core.LanceDataset, name, answer)
            with pytest.raises(CommitUnknownError):
                copied(job).commit(messages)
            copied(job).abort(messages)
        assert new_ids(table) == ([2] if answer is landed else [])
    again = job_of(table, shape)
    copied(again).commit([written(again, rows("mon", 2))])
    check(table, 2)


def test_drivers_that_race_commit_once(table: Path, shape: str) -> None:
    jobs = [job_of(table, shape) for _ in range(4)]
    messages = [written(job, rows("mon", 2), rows("mon", 3)) for job in jobs]
    failures: list[LanceError] = []

    def commit(number: int) -> None:
        try:
            copied(jobs[number]).commit([messages[number]])
        except LanceError as error:
            failures.append(error)

    threads = [threading.Thread(target=commit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert lance_core.dataset(table).version == 2
    check(table, 2, 3)


def test_only_later_runs_of_the_application_write(table: Path) -> None:
    for version, id_ in (("7", 2), ("7", 3), ("6", 4), ("8", 5)):
        run(job_of(table, "append", txn_version=version), rows("mon", id_))
    run(job_of(table, "append", txn_app_id="other"), rows("mon", 6))
    made_by = lance_core.dataset(table).read_transaction(2)
    assert made_by is not None
    assert made_by.transaction_properties == {
        "lance_core.txn_app_id": "nightly",
        "lance_core.txn_version": "7",
    }
    check(table, 2, 5, 6)
    # A run that is committed is no error, whatever the table is like now.
    lance_core.dataset(table).drop_columns(["day"])
    run(job_of(table, "append", if_exists="error"), rows("mon", 9))
    lance_core.dataset(table).add_columns({"day": "'mon'"})
    # An earlier run is looked for in a number of versions only.
    run(job_of(table, "append", txn_look_back="1"), rows("mon", 7))
    check(table, 2, 5, 6, 7)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"txn_app_id": "a"}, "both of the options 'txn_app_id' and 'txn_version'"),
        ({"txn_version": "1"}, "both of the options"),
        ({"txn_app_id": "a", "txn_version": "-1"}, "'txn_version' must be a whole number"),
        ({"txn_app_id": "a", "txn_version": "1", "txn_look_back": "0"}, "'txn_look_back'"),
        ({"txn_apid": "a"}, "did you mean 'txn_app_id'"),
    ],
    ids=str,
)
def test_bad_options_are_errors(table: Path, options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        planned(table, **options)


@pytest.mark.parametrize("if_exists", ["ignore", "error", "append", "overwrite"])
def test_two_drivers_that_make_the_same_table(tmp_path: Path, if_exists: str) -> None:
    uri = tmp_path / "new.lance"
    mode = {} if if_exists == "overwrite" else {"if_exists": if_exists}
    jobs = [planned(uri, not mode, **mode) for _ in range(2)]
    messages = [written(job, rows("mon", 2 + number)) for number, job in enumerate(jobs)]
    copied(jobs[0]).commit([messages[0]])
    if if_exists in ("ignore", "append"):
        copied(jobs[1]).commit([messages[1]])
    else:
        with pytest.raises(DatasetExistsError):
            copied(jobs[1]).commit([messages[1]])
    assert data_files(uri) == named_files(uri)
    check(uri, *([2, 3] if if_exists == "append" else [2]))
    one, other = (planned(tmp_path / "once.lance", **RUN) for _ in range(2))
    for job in (one, other):
        copied(job).commit([written(job, rows("mon", 2))])
    check(tmp_path / "once.lance", 2)


@pytest.mark.parametrize(
    "other", [{"day.lance.compression": "zstd"}, {"data_storage_version": "2.1"}], ids=str
)
def test_a_table_that_others_have_made_differently_is_a_conflict(
    tmp_path: Path, other: dict[str, str]
) -> None:
    uri = tmp_path / "new.lance"
    jobs = [planned(uri), planned(uri, **other)]
    messages = [written(job, rows("mon", 2)) for job in jobs]
    copied(jobs[1]).commit([messages[1]])
    with pytest.raises(RetryableCommitConflictError, match="in the meantime"):
        copied(jobs[0]).commit([messages[0]])
    assert data_files(uri) == named_files(uri)
    check(uri, 2)
