"""The counters, with their units and meanings. ``docs/plugins/otel.md`` lists them, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PREFIX = "lance."
"""Before the names of all attributes."""


class Instrument(NamedTuple):
    """``unit``: as UCUM writes it."""

    unit: str
    description: str


COUNTERS: Mapping[str, Instrument] = {
    "lance.commits": Instrument("{commit}", "commits, by operation and outcome"),
    "lance.commit.retries": Instrument("{attempt}", "attempts that followed a faster writer"),
    "lance.scans": Instrument("{scan}", "scans that have ended"),
    "lance.scan.rows": Instrument("{row}", "rows that scans have returned"),
    "lance.scan.rows_read": Instrument("{row}", "rows that scans have read to return these"),
    "lance.scan.bytes": Instrument("By", "bytes of data files that scans have read"),
    "lance.scan.step.time": Instrument("s", "time of the steps of scans, added over threads"),
    "lance.store.requests": Instrument("{request}", "calls of stores, by method and outcome"),
    "lance.store.bytes": Instrument("By", "bytes that stores have read and written"),
    "lance.store.retries": Instrument("{request}", "requests that were sent again"),
    "lance.cache.requests": Instrument("{request}", "look-ups in caches: hits and misses"),
}

SPANS: Mapping[str, str] = {
    "lance.commit": "one commit with all its attempts",
    "lance.scan": "one scan, from its first to its last row",
    "lance.store.": "one call of a remote store; the name ends in the method",
}
"""What each span is around."""
