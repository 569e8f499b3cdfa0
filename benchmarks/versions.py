"""Listings of the versions of a table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from benchmarks.bars import VERSIONS
from benchmarks.pair import Pair
from benchmarks.report import Report

APPENDS, CHANGES = 300, 3_000


def versions(report: Report, folder: Path, quick: bool) -> None:
    """Time ``versions()`` after appends of one row, and after more changes of the configuration.

    Each append adds a fragment to the manifest of its version, so these manifests grow.
    """
    rounds = 3 if quick else 7
    appends, changes = (count // (10 if quick else 1) for count in (APPENDS, CHANGES))
    row = pa.table({"id": [1], "text": ["one"]})
    path = folder / "versions"
    for number in range(appends):
        lance.write_dataset(row, str(path), mode="append" if number else "create")
    pair = Pair(report, path, rounds)
    pair.first(f"versions() of {appends:,} appends", _versions, VERSIONS)
    shutil.rmtree(path)
    table = lance.write_dataset(row, str(path))
    for number in range(changes - 1):
        table.update_config({"number": str(number)})
    pair.first(f"versions() of {changes:,} changes of configuration", _versions, VERSIONS)
    shutil.rmtree(path)


def _versions(table: Any) -> list[tuple[object, object]]:
    """Numbers and times of all versions."""
    return [(one["version"], one["timestamp"]) for one in table.versions()]
