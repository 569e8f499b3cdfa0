"""Tables can be used for as long as a thread of the process runs, and in what runs at its exit."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lance_core.concurrency.submit import submit

SCRIPT = """
import atexit, threading
import pyarrow as pa
import lance_core as lance
from lance_core.store.base import ByteRange
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.remote.store import RemoteStore
from lance_core.testing.memory_client import MemoryClient

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


def test_a_pool_that_has_ended_leaves_the_work_to_the_caller() -> None:
    pool = ThreadPoolExecutor(1)
    assert submit(pool, divmod, 7, 2).result() == (3, 1)
    pool.shutdown()
    assert submit(pool, divmod, 7, 2).result() == (3, 1)
    with pytest.raises(ZeroDivisionError):
        submit(pool, divmod, 7, 0).result()


def test_tables_can_be_used_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT]
    paths = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["done", "done"], done.stderr
