"""Bounds of memory, beyond what the contracts that use them show."""

from __future__ import annotations

import subprocess
import sys

KEPT_TO_THE_END = """
import os
import pyarrow as pa
from lance_core_testing.memory_bound import bounded_memory

with bounded_memory("an array", 1):
    array = pa.array(range(1000))
os.kept = array  # the interpreter clears this module after that of the bound
"""


def test_arrays_may_outlive_the_bound_and_its_module() -> None:
    ended = subprocess.run([sys.executable, "-c", KEPT_TO_THE_END], check=False)
    assert ended.returncode == 0
