"""Work on indices that other writers overtake between the build of a segment and its commit."""

from __future__ import annotations

import dataclasses
import functools
import random
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.maintenance.indices import optimize, valid_segments
from lance_core.dataset.maintenance.indices.segments import SegmentWriter
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.errors import (
    CommitConflictError,
    IndexWarning,
    RetryableCommitConflictError,
)
from lance_core.plugins import open_store
from lance_core.store.functions import list_paths
from lance_core.table.indices.index_metadata import fragment_bitmap

Change = Callable[[lance.LanceDataset], object]

INDICES = {"x": "BTREE", "y": "BITMAP"}


def rows(start: int, count: int) -> pa.Table:
    """Rows with a unique key ``x``, and ``y`` from 0 to 4."""
    keys = pa.array(range(start, start + count), pa.int64())
    return pa.table({"x": keys, "y": pa.array([key % 5 for key in range(start, start + count)])})


def indexed(uri: str, *, stable: bool = False) -> lance.LanceDataset:
    """Four fragments, two of which the indices of ``x`` and ``y`` cover."""
    store = open_store(uri)
    for path, content in _files_of_a_table(stable).items():
        store.put(path, content)
    return lance.dataset(uri)


@functools.cache
def _files_of_a_table(stable: bool) -> dict[str, bytes]:
    """What is at each path of such a table: to copy it takes less than to make it."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = lance.write_dataset(
            rows(0, 20), folder, max_rows_per_file=10, enable_stable_row_ids=stable
        )
        for column, kind in INDICES.items():
            dataset.create_scalar_index(column, kind)
        for start in (20, 30):
            dataset = lance.write_dataset(rows(start, 10), dataset, mode="append")
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def check_answers(uri: str) -> lance.LanceDataset:
    """Check that the indices give the rows that a scan gives: all of them, and those of values."""
    dataset = lance.dataset(uri)
    dataset.validate()
    table = dataset.to_table(columns=["x", "y"])
    keys = ", ".join(map(str, table["x"].to_pylist()))
    conditions = [f"x IN ({keys})", "x < 15", "x >= 15", "y = 3", "y >= 9", "y < 3", "y = 1"]
    for condition in conditions:
        expected = dataset.to_table(filter=condition, use_scalar_index=False)
        assert dataset.to_table(filter=condition).sort_by("x") == expected.sort_by("x")
    return dataset


def check_files(dataset: lance.LanceDataset) -> None:
    """Check that each folder of an index belongs to some version."""
    named = set()
    for version in dataset.versions():
        old = dataset.checkout_version(version["version"])
        named |= {str(index.uuid) for index in indices_of(old.snapshot)}
    paths = list_paths(dataset.snapshot.root.store, "_indices")
    assert {path.split("/")[1] for path in paths} <= named


def uncovered(dataset: lance.LanceDataset, name: str) -> set[int]:
    (index,) = [one for one in dataset.describe_indices() if one.name == name]
    covered = {id_ for segment in index.segments for id_ in segment.fragment_ids}
    return {one.fragment_id for one in dataset.get_fragments()} - covered


class Overtaking:
    """Another writer that makes a change after segments are built, the first ``times`` times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, change: Change, times: int = 1) -> None:
        self.count = 0
        build = SegmentWriter.write
        is_own = threading.local()

        def overtaken(writer: SegmentWriter, *args: Any) -> Any:
            made = build(writer, *args)
            if self.count < times and not getattr(is_own, "busy", False):
                self.count += 1
                is_own.busy = True
                try:
                    change(lance.dataset(writer.snapshot.root.base_uri))
                finally:
                    is_own.busy = False
            return made

        monkeypatch.setattr(SegmentWriter, "write", overtaken)


def append(dataset: lance.LanceDataset) -> None:
    lance.write_dataset(rows(40, 3), dataset, mode="append")


def update(dataset: lance.LanceDataset) -> None:
    dataset.update({"y": "9", "x": "x + 1000"}, "x IN (3, 13, 23, 33)")


def update_in_place(dataset: lance.LanceDataset) -> None:
    """Replace values of ``y`` in the fragments 0 and 2."""
    for id_ in (0, 2):
        part = dataset.get_fragment(id_)
        if part is None:
            continue
        values = part.to_table(columns=["y"], with_row_id=True)
        new = pa.array([value + 20 for value in values["y"].to_pylist()])
        fragment, fields = part.update_columns(values.set_column(0, "y", new))
        operation = lance.LanceOperation.Update(
            updated_fragments=[fragment], fields_modified=list(fields)
        )
        dataset = lance.LanceDataset.commit(dataset, operation, dataset.version)


def delete(dataset: lance.LanceDataset) -> None:
    dataset.delete("x % 3 = 0 OR x BETWEEN 20 AND 29")


def compact(dataset: lance.LanceDataset) -> None:
    dataset.optimize.compact_files(target_rows_per_fragment=30)


def compact_deferred(dataset: lance.LanceDataset) -> None:
    dataset.optimize.compact_files(target_rows_per_fragment=30, defer_index_remap=True)


def extend_index(dataset: lance.LanceDataset) -> None:
    dataset.optimize.optimize_indices(index_names=["x_idx"], num_indices_to_merge=0)


def replace_index(dataset: lance.LanceDataset) -> None:
    dataset.create_scalar_index("x", "BTREE")


def drop_index(dataset: lance.LanceDataset) -> None:
    dataset.drop_index("y_idx")


def overwrite(dataset: lance.LanceDataset) -> None:
    lance.write_dataset(rows(0, 7), dataset, mode="overwrite")


def restore(dataset: lance.LanceDataset) -> None:
    dataset.checkout_version(dataset.version - 1).restore()


CHANGES = [
    append,
    update,
    update_in_place,
    delete,
    compact,
    compact_deferred,
    extend_index,
    replace_index,
    drop_index,
    overwrite,
    restore,
]


@pytest.mark.parametrize(
    ("stable", "options"), [(False, {}), (True, {}), (False, {"retrain": True})], ids=str
)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_an_optimization_gets_through_and_indices_stay_right(
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    stable: bool,
    options: dict[str, Any],
) -> None:
    if stable and change is compact_deferred:
        change, options = compact, {"num_indices_to_merge": 0}  # no remap that could be deferred
    dataset = indexed(uri, stable=stable)
    dataset.delete("x = 37")
    other = Overtaking(monkeypatch, change)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset.optimize.optimize_indices(**options)
    assert other.count == 1
    now = check_answers(uri)
    check_files(now)
    late = {one.fragment_id for one in now.get_fragments()} - {0, 1, 2, 3}
    for index in now.describe_indices():
        assert uncovered(now, index.name) <= late


def test_a_change_of_values_in_place_leaves_only_its_fragments(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = indexed(uri)
    other = Overtaking(monkeypatch, update_in_place, times=99)
    with pytest.warns(IndexWarning, match="not added all rows to 'y_idx'.*fragments 0, 2 were"):
        dataset.optimize.optimize_indices()
    assert other.count == 2 + optimize.MAX_ROUNDS - 1
    now = check_answers(uri)
    assert (uncovered(now, "x_idx"), uncovered(now, "y_idx")) == (set(), {0, 2})
    check_files(now)


def test_an_index_that_conflicts_each_time_is_left_and_named(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = indexed(uri)
    Overtaking(monkeypatch, replace_index, times=99)
    with pytest.warns(IndexWarning, match="not added all rows to 'x_idx', because other writers"):
        dataset.optimize.optimize_indices(retrain=True)
    now = check_answers(uri)
    assert uncovered(now, "y_idx") == set()
    check_files(now)


def test_conflicts_of_all_indices_are_a_retryable_error(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = indexed(uri)
    Overtaking(monkeypatch, replace_index, times=99)
    with pytest.raises(RetryableCommitConflictError, match=r"given up after 6 attempts.*'x_idx'"):
        dataset.optimize.optimize_indices(index_names=["x_idx"], retrain=True)
    check_files(check_answers(uri))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_new_index_that_is_overtaken_is_right_or_refused(
    uri: str, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    dataset = indexed(uri)
    dataset.delete("x = 37")
    Overtaking(monkeypatch, change)
    try:
        dataset.create_scalar_index("x", "BTREE", name="other")
        dataset.drop_index("x_idx")
    except CommitConflictError:
        assert change in (update_in_place, overwrite, restore, drop_index)
    check_files(check_answers(uri))


@pytest.mark.parametrize(
    ("change", "stable"),
    [
        *((change, False) for change in CHANGES),
        *((one, True) for one in (update, compact, restore)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_segments_committed_after_other_changes_give_right_answers(
    uri: str, change: Change, stable: bool
) -> None:
    """Among them a restore: rows that were deleted when the segment was built are back."""
    dataset = indexed(uri, stable=stable)
    dataset.delete("x = 37 OR x = 4")
    parts = [
        dataset.create_index_uncommitted("x", "BTREE", name="other", fragment_ids=[number])
        for number in range(4)
    ]
    change(lance.dataset(uri))
    dataset = lance.dataset(uri)
    dataset.commit_existing_index_segments("other", "x", parts)
    if change is not overwrite:  # which has dropped the index
        dataset.drop_index("x_idx")
    check_answers(uri)


def test_a_segment_of_unknown_fragments_can_be_committed(uri: str) -> None:
    dataset = lance.write_dataset(rows(0, 20), uri)
    part = dataset.create_index_uncommitted("x", "BTREE", fragment_ids=[0])
    unknown = dataclasses.replace(part, fragment_ids=None)
    dataset.commit_existing_index_segments("x_idx", "x", [unknown])
    assert uncovered(check_answers(uri), "x_idx") == {0}


@pytest.mark.parametrize(("count", "more"), [(10, ""), (12, " and 2 more")])
def test_ten_fragments_that_a_segment_cannot_cover_are_named(count: int, more: str) -> None:
    text = f"fragments 0, 1, 2, 3, 4, 5, 6, 7, 8, 9{more} were replaced, or their values were"
    assert valid_segments._changed(fragment_bitmap(range(count))) == text


def test_attempts_to_commit_a_segment_wait_for_each_other(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = indexed(uri)
    pauses: list[int] = []

    def no_pause(attempts: int, *_: object) -> float:
        pauses.append(attempts)
        return 0.0

    monkeypatch.setattr(valid_segments, "backoff", no_pause)
    Overtaking(monkeypatch, extend_index)
    dataset.optimize.optimize_indices(index_names=["x_idx"])
    assert pauses == [1]


def test_optimizations_get_through_beside_writers_that_never_pause() -> None:
    uri = f"memory://{uuid.uuid4()}/table"
    indexed(uri)
    is_over, chance = threading.Event(), random.Random(7)

    def write(changes: list[Change]) -> None:
        while not is_over.is_set():
            try:
                chance.choice(changes)(lance.dataset(uri))
            except CommitConflictError:
                continue  # nothing of it is committed

    def update_some(dataset: lance.LanceDataset) -> None:
        dataset.update({"y": "(y + 1) % 7"}, f"x % 7 = {chance.randrange(7)}")

    def delete_some(dataset: lance.LanceDataset) -> None:
        dataset.delete(f"x % 50 = {chance.randrange(50)}")

    with ThreadPoolExecutor(2) as pool, warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        writers = [
            pool.submit(write, [append, update_some, delete_some]),
            pool.submit(write, [compact, append]),
        ]
        try:
            for _ in range(3):
                lance.dataset(uri).optimize.optimize_indices()
        finally:
            is_over.set()
        for writer in writers:
            writer.result()
    assert {one.category for one in shown} <= {IndexWarning}
    check_answers(uri)
