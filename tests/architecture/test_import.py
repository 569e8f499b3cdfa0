"""`import lance_core` is quick and brings nothing heavy along."""

from __future__ import annotations

import os
import subprocess
import sys

HEAVY = ["boto3", "duckdb", "fsspec", "lance", "pandas", "polars", "pyspark", "torch"]
BUDGET_SECONDS = 0.060
RUNS = 9


def run(code: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    ).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    loaded = run("import sys, lance_core; print(*sys.modules)").split()
    assert set(loaded) & set(HEAVY) == set()
    assert "lance_core" in loaded


def test_importing_costs_little_more_than_pyarrow() -> None:
    code = (
        "import pyarrow, time; start = time.process_time()\n"
        "import lance_core; print(time.process_time() - start)"
    )
    # Processor time, and the quickest of several runs: the rest is what else the machine does.
    assert min(float(run(code)) for _ in range(RUNS)) <= BUDGET_SECONDS
