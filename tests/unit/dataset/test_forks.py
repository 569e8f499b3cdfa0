"""Work that is half done when the process forks: no child hangs or touches what is its parent's."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core.datafile import parallel
from lance_core.errors import InvalidInputError
from lance_core.file import LanceFileReader, LanceFileWriter
from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core.plugins import get_manager, open_store
from lance_core_remote.client import Content
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]

ROWS = pa.table({"i": np.arange(2_400), "v": np.arange(2_400) * 0.5})
SECONDS = 30
"""A child that takes longer hangs: what it does takes a few milliseconds."""


def in_child(work: Callable[[], None]) -> int:
    """Fork; the exit status of the child, which does ``work``: 0 if that raises nothing."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class SlowClient(MemoryClient):
    """Objects in memory that take a moment to come."""

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        time.sleep(0.001)
        return super().get(key, wanted, etag)


@pytest.fixture
def slow_uri() -> Iterator[str]:
    """A place in a remote store that is read ahead of a scan."""
    client = SlowClient()
    settings = RemoteSettings(part_size=1 << 20)

    class Plugin:
        @hookimpl
        def lance_object_stores(self) -> list[ObjectStoreSpec]:
            def open_it(url: object, options: object) -> RemoteStore:
                return RemoteStore(client, "root", settings)

            return [ObjectStoreSpec("slow", ("slow",), open_it)]

    name = get_manager().register(Plugin(), "slow store")
    yield "slow://host/table"
    get_manager().unregister(name)


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_half_read_stream_goes_on_in_each_forked_child(
    uri: str, slow_uri: str, is_remote: bool
) -> None:
    place = slow_uri if is_remote else uri
    dataset = lance.write_dataset(ROWS, place, max_rows_per_file=300)
    scans = [
        ({}, ROWS),
        ({"filter": "i % 7 = 0"}, ROWS.filter(pa.array(np.arange(2_400) % 7 == 0))),
    ]
    statuses = []
    for turn in range(13):
        options, expected = scans[turn % 2]
        batches = dataset.to_batches(batch_size=100, **options)
        reader = dataset.scanner(batch_size=100, **options).to_reader()
        parts = [next(batches) for _ in range(turn % 4 + 1)]
        others = [reader.read_next_batch() for _ in range(turn % 3)]

        def go_on(
            parts: list[pa.RecordBatch] = parts,
            others: list[pa.RecordBatch] = others,
            batches: Iterator[pa.RecordBatch] = batches,
            reader: pa.RecordBatchReader = reader,
            expected: pa.Table = expected,
        ) -> None:
            for before, rest in ((parts, batches), (others, reader)):
                found = pa.Table.from_batches([*before, *rest], expected.schema)
                assert found.equals(expected)

        # While the threads of the parent are reading, and where nothing is any more.
        statuses.append(in_child(go_on))
        time.sleep(0.001 * turn)
        statuses.append(in_child(go_on))
        go_on()
    assert statuses == [0] * 26


def test_a_half_read_stream_is_dropped_in_a_child_without_waiting(
    slow_uri: str,
) -> None:
    dataset = lance.write_dataset(ROWS, slow_uri, max_rows_per_file=300)
    streams = [iter(dataset.to_batches(batch_size=100))]

    def drop() -> None:
        for stream in streams:
            stream.close()  # type: ignore[attr-defined]  # a generator
        assert dataset.count_rows("i < 10") == 10

    for _ in range(10):
        streams[:] = [dataset.to_batches(batch_size=100)]
        next(streams[0])
        assert in_child(drop) == 0


def test_a_child_reads_while_other_threads_of_its_parent_hold_locks(slow_uri: str) -> None:
    dataset = lance.write_dataset(ROWS, slow_uri, max_rows_per_file=300)
    ends = threading.Event()

    def work() -> None:
        while not ends.is_set():
            dataset.to_table()
            sum(batch.num_rows for batch in dataset.to_batches(filter="i > 3"))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    batches = dataset.to_batches(batch_size=100)
    next(batches)

    def read() -> None:
        assert sum(batch.num_rows for batch in batches) == 2_300
        assert dataset.to_table().equals(ROWS)
        assert lance.dataset(slow_uri).count_rows() == 2_400

    statuses = [in_child(read) for _ in range(10)]
    ends.set()
    for thread in threads:
        thread.join(60)
    assert statuses == [0] * 10


class HeldSource:
    """Where a blob is: in a store whose reads wait for the test."""

    path, size = "blob", 1000

    def __init__(self) -> None:
        self.store = self
        self.is_read, self.may_go_on = threading.Event(), threading.Event()

    def range(self, offset: int, length: int) -> ByteRange:
        return ByteRange(offset, offset + length)

    def get_ranges(self, path: str, ranges: list[ByteRange]) -> list[pa.Buffer]:
        self.is_read.set()
        self.may_go_on.wait(60)
        return [pa.py_buffer(bytes(one.length)) for one in ranges]


def test_a_blob_that_another_thread_reads_is_free_in_a_child() -> None:
    source = HeldSource()
    blob = lance.BlobFile(source)  # type: ignore[arg-type]
    thread = threading.Thread(target=blob.read, args=[10])
    thread.start()
    assert source.is_read.wait(60)

    def read() -> None:
        source.may_go_on = threading.Event()
        source.may_go_on.set()
        assert blob.seek(990) == 990
        assert len(blob.read()) == 10
        blob.close()

    status = in_child(read)
    source.may_go_on.set()
    thread.join(60)
    assert status == 0


def test_half_written_files_belong_to_the_parent(tmp_path: Path, slow_uri: str) -> None:
    for place in (str(tmp_path), slow_uri):
        store = open_store(place)
        with (
            LanceFileWriter(f"{place}/x.lance", ROWS.schema) as writer,
            store.open_writer("other") as other,
        ):
            writer.write_batch(ROWS)
            other.write(b"a" * 100)

            def meddle() -> None:
                with pytest.raises(InvalidInputError, match="belongs to another process"):
                    other.write(b"b")
                with pytest.raises(InvalidInputError, match="belongs to another process"):
                    other.close()
                other.abort()
                with pytest.raises(InvalidInputError, match="belongs to another process"):
                    writer.close()
                writer.__exit__(ValueError, ValueError(), None)

            assert [in_child(meddle) for _ in range(3)] == [0] * 3
            other.write(b"c")
        assert bytes(store.get("other")) == b"a" * 100 + b"c"
        table = LanceFileReader(f"{place}/x.lance").read_all().to_table()
        assert table.equals(ROWS)


def test_a_write_goes_on_when_the_rows_it_is_given_come_from_forks(uri: str) -> None:
    statuses = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in ROWS.to_batches(max_chunksize=1000):
            statuses.append(in_child(lambda: None))
            yield batch

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    assert lance.write_dataset(reader, uri).to_table().equals(ROWS)
    assert statuses == [0] * 3


def test_pages_under_way_in_the_parent_are_not_waited_for_in_a_child() -> None:
    may_end = threading.Event()

    def pages(number: int) -> Iterator[int]:
        yield number
        if number:
            may_end.wait(60)

    made = parallel.in_order([lambda number=number: pages(number) for number in range(2)])
    assert next(made) == (0, 0)
    assert in_child(made.close) == 0
    may_end.set()
    assert list(made) == [(1, 1)]
