"""`import lance_core` is quick and brings nothing heavy along."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.architecture.test_modules import PACKAGES, facts_of

HEAVY = ["boto3", "duckdb", "fsspec", "lance", "pandas", "polars", "pyspark", "torch"]
BUDGET_SECONDS = 0.060
RUNS = 9

IMPORTS_IN_FUNCTIONS = {
    "lance_core.dataset.api": "`import lance_core` imports nothing but this module",
    "lance_core.dataset.expressions.filters": "a filter is SQL or of Arrow, or there is none",
    "lance_core.dataset.read.sources.pruning": "only filters need the parser of SQL",
    "lance_core.encodings.dispatch": "a file has the encodings of one version",
    "lance_core.plugins.loading": "pluggy, which the hooks need, is imported with the first plugin",
    "lance_core.schema.align": "few tables have columns of JSON",
    "lance_core.schema.proto": "the messages of protobuf are imported with the first file",
    "lance_core.schema.tree": "only the schemas of wide tables need the module",
    "lance_core.schema.wrap": "few tables have columns of JSON",
    "lance_core_arrays.bfloat16": "only data frames need pandas",
    "lance_core_compaction.rewrite": "most compactions copy no pages",
    "lance_core_kernels.plugin": "the compiled library may be missing",
    "lance_core_spark.scan.reader": "only pushed filters need Arrow's functions",
    "lance_core_spark.source": "a process that plans a read needs nothing that writes",
    "lance_core.store.local.writer": "only compactions copy ranges of files",
    "lance_core.table.indices.index_coverage": "each commit loads it, few tables need the module",
    "lance_core.table.manifest.manifest": "only the schemas of wide tables need the module",
    "pyspark_lance.data_source": "an error while it is imported would hide all data sources",
    "lance_core_otel.providers": "OpenTelemetry, only where an application uses it",
}
"""Modules whose functions import modules of this project, each with the reason.

Packages may also import a public name when it is first used, in ``__getattr__``.
"""


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
    # Processor time, and one run of several is enough: the rest is what else the machine does.
    assert any(float(run(code)) <= BUDGET_SECONDS for _ in range(RUNS))


def test_functions_import_own_modules_only_with_a_reason() -> None:
    found = set()
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            if facts_of(path).functions_import_own_modules:
                name = path.relative_to(package.parent).with_suffix("")
                found.add(".".join(name.parts))
    assert found == set(IMPORTS_IN_FUNCTIONS)
