"""Threads that change one table at the same time, each through a dataset of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits import attempt
from lance_core.errors import InvalidInputError, RetryableCommitConflictError

THREADS = 8
TIMES = 5
ROWS = 10


def rows(first: int) -> pa.Table:
    return pa.table({"i": pa.array(range(first, first + ROWS), pa.int64())})


@pytest.fixture(params=["fast", "durable", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address, by how well what is there is kept."""
    if request.param == "memory":
        return f"memory://{uuid.uuid4()}/table"
    monkeypatch.setenv("LANCE_CORE_DURABILITY", request.param)
    return str(tmp_path / "table")


def together(uri: str, work: Callable[[lance.LanceDataset, int], None]) -> None:
    """``work`` with a dataset and a number in each of the threads; raises what one raises."""
    barrier = Barrier(THREADS)

    def run(number: int) -> None:
        dataset = lance.dataset(uri)
        barrier.wait()
        work(dataset, number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


def test_appends_of_all_threads_succeed(table: str) -> None:
    lance.write_dataset(rows(0), table)

    def append(dataset: lance.LanceDataset, number: int) -> None:
        for time in range(TIMES):
            dataset.insert(rows((1 + number * TIMES + time) * ROWS))

    together(table, append)
    dataset = lance.dataset(table)
    assert dataset.version == 1 + THREADS * TIMES
    assert [v["version"] for v in dataset.versions()] == list(range(1, dataset.version + 1))
    found = dataset.to_table()["i"].to_pylist()
    assert sorted(found) == list(range((1 + THREADS * TIMES) * ROWS))
    fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
    assert fragments == list(range(1 + THREADS * TIMES))


@pytest.mark.parametrize("stable_row_ids", [False, True])
def test_appends_deletes_and_settings_of_all_threads_succeed(
    table: str, stable_row_ids: bool
) -> None:
    """All threads delete rows of the same fragment."""
    count = THREADS * TIMES
    before = pa.table({"i": pa.array(range(count), pa.int64())})
    lance.write_dataset(before, table, enable_stable_row_ids=stable_row_ids)

    def change(dataset: lance.LanceDataset, number: int) -> None:
        for time in range(TIMES):
            own = number * TIMES + time
            if number % 3 == 0:
                dataset.insert(rows(1000 + own * ROWS))
            elif number % 3 == 1:
                assert dataset.delete(f"i = {own}") == {"num_deleted_rows": 1}
            else:
                dataset.update_config({f"key {number}": str(time)})

    together(table, change)
    dataset = lance.dataset(table)
    assert dataset.version == 1 + count
    mine = [(number, number * TIMES + time) for number in range(THREADS) for time in range(TIMES)]
    left = {own for number, own in mine if number % 3 != 1}
    new = {1000 + own * ROWS + i for number, own in mine if number % 3 == 0 for i in range(ROWS)}
    found = dataset.to_table(with_row_id=True)
    assert sorted(found["i"].to_pylist()) == sorted(left | new)
    assert len(set(found["_rowid"].to_pylist())) == found.num_rows
    assert dataset.config() == {
        f"key {number}": str(TIMES - 1) for number in range(THREADS) if number % 3 == 2
    }
    dataset.validate()


def deletion_files(uri: str) -> tuple[set[str], set[str]]:
    """The files of deletions in the table's folder, and those that a version names."""
    dataset = lance.dataset(uri)
    named = {
        f"{uri}/{fragment.deletion_file.store_path(fragment.id)}"
        for version in dataset.versions()
        for fragment in lance.dataset(uri, version["version"]).snapshot.manifest.fragments
        if fragment.deletion_file is not None
    }
    return {str(path) for path in Path(uri, "_deletions").iterdir()}, named


def test_deletions_merged_for_a_version_that_was_not_made_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, is_still_right = attempt.publish, attempt._Attempts._is_still_right
    for way in ("publish", "is_still_right"):
        uri = str(tmp_path / way)
        lance.write_dataset(rows(0), uri)
        late = lance.dataset(uri)
        lance.dataset(uri).delete("i = 1")
        calls: list[str] = []

        def overtaken(*args: Any, uri: str = uri, calls: list[str] = calls) -> Any:
            calls.append("publish")
            if len(calls) == 1:  # its deletions are merged with the other's by now
                lance.dataset(uri).delete("i = 3")
            return publish(*args)

        def wrong_once(*args: Any, calls: list[str] = calls) -> bool:
            calls.append("is_still_right")
            return len(calls) > 1 and is_still_right(*args)

        with monkeypatch.context() as patched:
            if way == "publish":
                patched.setattr(attempt, "publish", overtaken)
            else:
                patched.setattr(attempt._Attempts, "_is_still_right", wrong_once)
            late.delete("i = 2")
        assert len(calls) >= 2
        there, named = deletion_files(uri)
        assert there == named
        deleted = {1, 2, 3} if way == "publish" else {1, 2}
        assert set(lance.dataset(uri).to_table()["i"].to_pylist()) == set(range(ROWS)) - deleted


def test_what_does_not_fit_a_later_version_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidInputError("this does not go together")

    uri = str(tmp_path / "table")
    lance.write_dataset(rows(0), uri)
    files = lance.fragment.write_fragments(rows(ROWS), uri)
    assert isinstance(files, list)
    append = lance.LanceOperation.Append(files)
    for error, text in (
        (InvalidInputError, r"^this does not go together"),
        (RetryableCommitConflictError, "version 1 does not fit version 2: this does not go"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(attempt, "apply", refuse)
            with pytest.raises(error, match=text):
                lance.LanceDataset.commit(uri, append, read_version=1)
        lance.dataset(uri).insert(rows(2 * ROWS))
