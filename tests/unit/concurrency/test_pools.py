"""Work that is shared by threads."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lance_core.concurrency import pools
from lance_core.concurrency.pools import IO_THREADS, ThreadPool, in_order, num_threads

SCRIPT = """
import atexit, threading
import pyarrow as pa
import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient

remote = RemoteStore(MemoryClient(), "root", RemoteSettings(part_size=100, read_size=100))

def use(place, main=threading.main_thread()):
    main.join() if threading.current_thread() is not main else None
    data = pa.table({"a": range(10000), "b": range(10000)})
    lance.write_dataset(data, place, max_rows_per_file=2000)
    assert lance.dataset(place).to_table().equals(data)
    with remote.open_writer(place) as writer:
        for _ in range(100):
            writer.write(b"x" * 99)
    assert remote.get(place).size == 9900
    assert remote.get_ranges(place, [ByteRange(0, 9900)])[0].size == 9900
    print("done", flush=True)

atexit.register(use, "exit")
threading.Thread(target=use, args=("late",)).start()
"""


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(in_order(lambda number: number * 2, range(100), 4)) == [*range(0, 200, 2)]


def test_work_within_work_does_not_wait_for_threads_that_wait() -> None:
    def outer(number: int) -> list[int]:
        return list(in_order(lambda inner: number + inner, range(5), 3))

    found = list(in_order(outer, range(4 * num_threads()), 4))
    assert found == [[*range(number, number + 5)] for number in range(4 * num_threads())]


def test_work_that_waits_does_so_at_the_same_time() -> None:
    together = threading.Barrier(IO_THREADS, timeout=30)

    def wait(number: int) -> int:
        together.wait()
        return number

    assert list(in_order(wait, range(IO_THREADS), IO_THREADS, is_io_bound=True)) == [
        *range(IO_THREADS)
    ]


def test_a_pool_that_has_ended_leaves_the_work_to_the_caller() -> None:
    with ThreadPool("test", 1) as pool:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
    assert pool.submit(divmod, 7, 2).result() == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result()


def test_tables_can_be_used_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT]
    paths = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["done", "done"], done.stderr


def test_tasks_that_nobody_waits_for_end_at_their_next_check() -> None:
    ended: queue.SimpleQueue[str] = queue.SimpleQueue()
    begun = threading.Semaphore(0)

    def work(number: int) -> int:
        if number == 0:
            return 0
        begun.release()
        try:
            while True:
                pools.check_not_abandoned()
                time.sleep(0.001)
        except pools.AbandonedTaskError:
            ended.put("abandoned")
            raise

    with pools.ThreadPool("abandoned", 2) as pool:
        results = pool.in_order(work, range(3), 3)
        assert next(results) == 0
        begun.acquire()
        results.close()  # type: ignore[attr-defined]
        assert ended.get(timeout=60) == "abandoned"
