"""Import times in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import interleaved
from benchmarks.report import Report

UNWANTED = ("pandas", "pyspark", "boto3")


def imports(report: Report, rounds: int) -> None:
    """Time ``import lance_core`` beyond ``import pyarrow``, and check the modules it imports."""
    modules = ("pyarrow", "lance_core", "lance")
    timings = interleaved(
        {name: lambda name=name: _run(f"import {name}") for name in modules}, max(rounds, 5)
    )
    extra = timings["lance_core"].median - timings["pyarrow"].median
    for name in modules:
        report.note(f"import {name}", 1000 * timings[name].median, "ms (whole process)")
    report.note("import lance_core beyond pyarrow", 1000 * extra, "ms", most=60)
    used = interleaved({"all": lambda: _run("import lance_core; lance_core.LanceDataset")}, 5)
    report.note("the same, and the first use", 1000 * used["all"].median, "ms (whole process)")
    loaded = _run(f"import sys, lance_core; print([m for m in {UNWANTED} if m in sys.modules])")
    assert loaded.strip() == "[]", f"import lance_core loads {loaded}"


def _run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
