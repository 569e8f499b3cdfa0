"""Datasets shared between threads, processes and handles."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.concurrency.pools import in_order
from lance_core.errors import DatasetNotFoundError
from lance_core.store.config import carrying_secrets
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]

SECRET = "wJalrXUtnFEMI"


def test_a_pickled_dataset_opens_the_same_version(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(3), uri)
    data = pickle.dumps(dataset)
    lance.write_dataset(some_rows(1), uri, mode="append")
    again = pickle.loads(data)
    assert (again.version, again.latest_version) == (1, 2)
    assert again.to_table().equals(some_rows(3))


def test_a_pickle_keeps_scan_defaults_and_works_elsewhere(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    lance.write_dataset(some_rows(3), uri)
    monkeypatch.chdir(Path(uri).parent)
    dataset = lance.dataset(Path(uri).name, default_scan_options={"columns": ["i"]})
    data = pickle.dumps(dataset)
    monkeypatch.chdir("/")
    assert pickle.loads(data).to_table().to_pydict() == {"i": [0, 1, 2]}


@pytest.mark.usefixtures("service")
def test_a_pickle_carries_no_secrets_unless_asked_to() -> None:
    place = f"memory://user:{SECRET}@host/pickled"
    options = {"secret_access_key": SECRET, "region": "here"}
    lance.write_dataset({"i": [1]}, place, storage_options=options)
    dataset = lance.dataset(place, storage_options=options)
    assert SECRET.encode() not in pickle.dumps(dataset)
    assert SECRET.encode() not in pickle.dumps(dataset.get_fragment(0))
    assert SECRET not in repr(dataset.snapshot.root.config)
    with carrying_secrets():
        data = pickle.dumps(dataset)
    assert SECRET.encode() in data
    assert pickle.loads(data).count_rows() == 1


@pytest.mark.usefixtures("service")
def test_secrets_reach_no_file(uri: str) -> None:
    options = {"secret_access_key": SECRET}
    lance.write_dataset({"i": [1]}, uri, storage_options=options)
    files = [path.read_bytes() for path in Path(uri).rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not any(SECRET.encode() in content for content in files)


def test_a_table_in_memory_is_the_same_wherever_it_is_opened(some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(5), "memory://shared/some/table")
    lance.write_dataset(some_rows(2), "memory://shared/some/table", mode="append")
    assert lance.dataset("memory://shared/some/table").count_rows() == 7
    assert dataset.latest_version == 2
    with pytest.raises(DatasetNotFoundError):
        lance.dataset("memory://shared/some")
    with pytest.raises(DatasetNotFoundError):
        lance.dataset("memory://other/some/table")


@pytest.mark.parametrize("place", ["memory", "file"])
def test_threads_append_and_read_at_the_same_time(uri: str, some_rows: Rows, place: str) -> None:
    target = uri if place == "file" else "memory://threads/table"
    lance.write_dataset(some_rows(0), target)
    writers, appends = 4, 3
    barrier = threading.Barrier(2 * writers)
    done = threading.Event()

    def append(number: int) -> None:
        barrier.wait()
        for turn in range(appends):
            start = 10 * (number * appends + turn)
            lance.write_dataset(some_rows(10, start), target, mode="append", max_rows_per_file=4)

    def read(number: int) -> int:
        barrier.wait()
        dataset = lance.dataset(target)
        seen = 0
        while not done.is_set():
            dataset.checkout_latest()
            found = dataset.to_table(["i", "s"], filter="i >= 0")
            assert found.num_rows == dataset.count_rows() == 10 * (dataset.version - 1)
            values = np.sort(found["i"].to_numpy())
            assert (values.reshape(-1, 10) % 10 == np.arange(10)).all()
            if found.num_rows:
                assert dataset.take([found.num_rows - 1, 0]).num_rows == 2
            assert found.num_rows >= seen
            seen = found.num_rows
        return seen

    with ThreadPoolExecutor(2 * writers) as pool:
        reading = [pool.submit(read, number) for number in range(writers)]
        writing = [pool.submit(append, number) for number in range(writers)]
        try:
            for future in writing:
                future.result()
        finally:
            done.set()
        for future in reading:
            future.result()
    dataset = lance.dataset(target)
    assert sorted(dataset.to_table(["i"])["i"].to_pylist()) == list(range(10 * writers * appends))
    assert dataset.version == writers * appends + 1
    assert [f.fragment_id for f in dataset.get_fragments()] == list(range(3 * writers * appends))


def test_threads_share_one_dataset(sample: Sample) -> None:
    dataset = pickle.loads(pickle.dumps(sample.dataset))  # nothing of it is open yet
    barrier = threading.Barrier(8)

    def read(number: int) -> None:
        barrier.wait()
        for turn in range(5):
            assert dataset.to_table().equals(sample.live)
            assert dataset.count_rows(f"i >= {number * 10}") > 0
            row = (number * 11 + turn) % 89
            assert dataset.take([row], ["i"])["i"].equals(sample.live["i"].slice(row, 1))
            assert sum(batch.num_rows for batch in dataset.to_batches(batch_size=9)) == 89

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(read, number) for number in range(8)]:
            future.result()


def fingerprint(dataset: lance.LanceDataset) -> tuple[int, int, int]:
    table = dataset.to_table(filter="i > 5")
    return table.num_rows, sum(table["i"].to_pylist()), dataset.take([80])["i"][0].as_py()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_read_a_dataset_that_they_are_given(sample: Sample, method: str) -> None:
    expected = fingerprint(sample.dataset)
    context: Any = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, context) as pool:
        found = list(pool.map(fingerprint, [sample.dataset] * 2))
    assert found == [expected] * 2


FORK = """
import os, sys, threading
import lance_core as lance

uri = sys.argv[1]
dataset = lance.dataset(uri)
expected = dataset.to_table(filter="i > 5").num_rows
stop = threading.Event()

def work():
    while not stop.is_set():
        lance.dataset(uri).to_table(filter="i > 5")
        dataset.take([3, 1])

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for turn in range(3):
    child = os.fork()
    if child == 0:
        good = dataset.to_table(filter="i > 5").num_rows == expected
        good = good and lance.dataset(uri).take([3, 1]).num_rows == 2
        lance.write_dataset({"i": [turn]}, uri + "-child", mode="append")
        os._exit(0 if good else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 3, codes
assert lance.dataset(uri + "-child").count_rows() == 3
"""


def test_a_process_can_fork_while_threads_read(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(100), uri, max_rows_per_file=7)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, uri]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, check=True, timeout=60, env=environment)


def test_work_comes_in_order_and_only_so_much_ahead() -> None:
    started: list[int] = []

    def work(number: int) -> int:
        started.append(number)
        return number * number

    results = in_order(work, range(100), ahead=3)
    assert [next(results) for _ in range(5)] == [0, 1, 4, 9, 16]
    assert max(started) <= 8
    results.close()
    assert list(in_order(work, [], 3)) == []
    assert list(in_order(work, [7], 3)) == [49]


def test_a_dropped_and_remade_table_is_read_anew(uri: str, some_rows: Rows) -> None:
    for number in range(3):
        lance.write_dataset(some_rows(50, number), uri)
        assert lance.dataset(uri).to_table(["i"])["i"][0].as_py() == number
        shutil.rmtree(uri)
