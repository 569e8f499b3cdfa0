"""Ctrl-C ends every evaluation soon, whatever evaluates it and however long it would take."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import ResultTooLargeError
from tests.unit.dataset.expressions import interrupted

MAX_SECONDS = 15.0
"""Limit for a busy machine; on a quiet one, the longest is below one second."""


def test_an_interrupt_ends_every_kind_of_evaluation_and_the_process(tmp_path: Path) -> None:
    check_interrupts(interrupted.KINDS, tmp_path)


def check_interrupts(kinds: Iterable[str], folder: Path) -> None:
    """A process that evaluates these ``kinds`` of conditions ends each soon after an interrupt."""
    command = [sys.executable, "-m", interrupted.__name__, str(folder), *kinds]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    seconds, ended = json.loads(run.stdout)
    assert seconds.keys() == set(kinds)
    assert None not in seconds.values(), "an evaluation ended before it was interrupted"
    assert max(seconds.values()) < MAX_SECONDS, seconds
    # Threads end as well, although their scans would go on for minutes.
    assert time.monotonic() - ended < MAX_SECONDS


GROWING = """
lpad(s, n, 'x'); rpad(s, 100000000, s); repeat(s, n); repeat(s, 1000000)
replace(s, 'x', s); replace(s, '', s); regexp_replace(s, 'x', s, 'g'); regexp_replace(s, '', s, 'g')
CASE WHEN n > 1 THEN repeat('x', 10000000) ELSE s END
coalesce(NULL, repeat('x', 1000000)); greatest(s, repeat('y', 10000000))
nullif(repeat('y', 10000000), s); upper(repeat('x', 20000000)); substr(repeat('y', 20000000), 1)
concat(repeat('x', 10000000), repeat('y', 10000000), repeat('z', 10000000))
"""


@pytest.mark.parametrize("sql", GROWING.replace("\n", ";").strip(";").split(";"))
def test_no_function_makes_more_than_the_limit_of_its_arguments(sql: str) -> None:
    check_growth(sql)


def check_growth(sql: str) -> None:
    """Its result would have gigabytes; it is refused before it is made."""
    columns = {"s": ["x" * 10_000] * 500, "n": [10**9] * 500, "l": [["a"] * 500] * 500}
    data = pa.table(columns)
    before = pa.total_allocated_bytes()
    with pytest.raises(ResultTooLargeError):
        as_value(sql, data.schema).evaluate(data)
    assert pa.default_memory_pool().max_memory() - before < 1 << 30
