"""The newest versions of a table, as many as are read in a short time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lance_core import LanceDataset
from lance_core.errors import LanceError
from lance_core_cli.records import operation_name

MAX_VERSIONS = 200
MAX_SECONDS = 2.0
"""At most so many versions are read, in about this time: a table may have tens of thousands."""


@dataclass(frozen=True)
class VersionFacts:
    """A version. ``rows`` without deleted ones; ``operation`` None if it is not recorded."""

    version: int
    time: datetime | None
    rows: int
    bytes: int
    fragments: int
    operation: str | None
    max_fragment_id: int | None

    def asdict(self) -> dict[str, Any]:
        """The facts as values of JSON."""
        shown = {name: value for name, value in vars(self).items() if name != "max_fragment_id"}
        return {**shown, "time": None if self.time is None else self.time.isoformat()}


def newest_versions(table: LanceDataset, problems: list[str]) -> tuple[list[VersionFacts], int]:
    """Versions up to the open one, oldest first, and the number of those that were not read.

    A version that cannot be read is added to ``problems``.
    """
    numbers = [ref["version"] for ref in table.version_refs() if ref["version"] <= table.version]
    start, versions = time.monotonic(), []
    count = 0
    for number in reversed(numbers[-MAX_VERSIONS:]):
        if count and time.monotonic() - start > MAX_SECONDS:
            break
        count += 1
        try:
            versions.append(_version(table, number))
        except LanceError as error:
            problems.append(f"version {number}: {error}")
    return versions[::-1], len(numbers) - count


def _version(table: LanceDataset, number: int) -> VersionFacts:
    opened = table if number == table.version else table.checkout_version(number)
    totals = opened.get_version()["metadata"]
    return VersionFacts(
        number,
        opened.snapshot.manifest.timestamp,
        int(totals["total_rows"]),
        int(totals["total_files_size"]),
        int(totals["total_fragments"]),
        operation_name(table, number),
        opened.max_fragment_id,
    )
