"""How many threads a process keeps busy is what its environment says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lance_core.concurrency.cpu_count import THREADS_VARIABLE, cpu_count
from lance_core.errors import InvalidInputError


@pytest.mark.parametrize(("text", "count"), [("1", 1), (" 7 ", 7)])
def test_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch, text: str, count: int
) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, text)
    assert cpu_count() == count


def test_else_it_is_as_many_as_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    assert 1 <= cpu_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_what_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, text)
    with pytest.raises(InvalidInputError, match=THREADS_VARIABLE):
        cpu_count()


def test_no_more_threads_read_and_write_than_that() -> None:
    code = """
import threading
import pyarrow as pa
import lance_core

columns = {f"c{n}": range(50_000) for n in range(8)}
lance_core.write_dataset(pa.table(columns), "memory://threads", max_rows_per_file=5_000)
assert lance_core.dataset("memory://threads").to_table().num_rows == 50_000
own = [t.name.rsplit("_")[0] for t in threading.enumerate() if t.name.startswith("lance-core")]
print(*sorted(own))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, THREADS_VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    threads = done.stdout.split()
    assert "lance-core-compute" in threads
    assert len(threads) == len(set(threads))
