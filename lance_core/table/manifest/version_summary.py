"""Summaries of versions: number, time and totals, without schemas and `Fragment` objects."""

from __future__ import annotations

from datetime import datetime
from operator import add
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb import frames_pb2, table_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.fragments.fragment_counts import Count, FragmentCounts
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import serialized_manifest
from lance_core.table.manifest.manifest import Manifest, check_layout, timestamp_ns, utc_time
from lance_core.table.unknown_fields import parse


class VersionTotals(NamedTuple):
    """Totals of the counts that a manifest records; they may be wrong in tables before 0.8.1."""

    total_data_file_rows: int
    total_data_files: int
    total_deletion_file_rows: int
    total_deletion_files: int
    total_files_size: int
    total_fragments: int
    total_rows: int

    @classmethod
    def of(cls, fragments: FragmentList, is_reliable: bool) -> VersionTotals:
        """The totals of ``fragments``; raises `CorruptFileError` for impossible reliable counts."""
        counts = fragments.counts if is_reliable else fragments.recorded_counts
        totals = counts.totals()
        return cls(
            total_data_file_rows=totals[Count.PHYSICAL_ROWS],
            total_data_files=totals[Count.DATA_FILES],
            total_deletion_file_rows=totals[Count.DELETED_ROWS],
            total_deletion_files=totals[Count.DELETION_FILES],
            total_files_size=totals[Count.DATA_BYTES],
            total_fragments=len(fragments),
            total_rows=_live_rows(counts, totals, is_reliable),
        )


def _live_rows(counts: FragmentCounts, totals: tuple[int, ...], is_reliable: bool) -> int:
    """The number of rows that are not deleted, in the fragments for which it is known."""
    are_known = counts.are_known
    if is_reliable and are_known.all():
        return totals[Count.PHYSICAL_ROWS] - totals[Count.DELETED_ROWS]
    rows = (counts.physical_rows - counts.deleted_rows)[are_known]
    return sum(np.maximum(rows, 0).tolist())


class VersionSummary(NamedTuple):
    """The number of a version, the time of its commit (UTC), and the totals of its fragments."""

    version: int
    timestamp: datetime | None
    totals: VersionTotals

    @classmethod
    def of(cls, manifest: Manifest) -> VersionSummary:
        is_reliable = manifest.uncorrected is None
        totals = VersionTotals.of(manifest.recorded_fragments, is_reliable)
        return cls(manifest.version, manifest.timestamp, totals)


class SummaryReader:
    """Summarises manifests of one table; fragments that follow each other are counted once.

    Most versions have the fragments of the version before, and some more. Bytes with which the
    last manifest begins too are compared, but not parsed again.
    """

    def __init__(self) -> None:
        self._start = b""
        self._is_reliable = True
        self._parts = [FragmentList()]
        self._totals = VersionTotals.of(self._parts[0], is_reliable=True)

    def read(self, data: pa.Buffer, path: str = "") -> VersionSummary:
        """The summary of a manifest file; raises the errors of `parse_manifest_file`."""
        try:
            return self._read(serialized_manifest(data))
        except CorruptFileError as error:
            raise error.at(path) from None

    def _read(self, data: bytes) -> VersionSummary:
        has_grown = bool(self._start) and data.startswith(self._start)
        new = data[len(self._start) :] if has_grown else data
        frame = parse(frames_pb2.ManifestFrame, new, "Manifest")
        fragments = FragmentList(frame.fragments)
        frame.ClearField("fragments")
        frame.ClearField("fields")
        rest = frame.SerializeToString()
        message = parse(table_pb2.Manifest, rest, "Manifest")
        check_layout(message)
        self._count(fragments, message.HasField("writer_version"), has_grown)
        # Other fields are after the fragments, unless another writer has a different order.
        self._start = data[: len(data) - len(rest)] if data.endswith(rest) else b""
        return VersionSummary(message.version, utc_time(timestamp_ns(message)), self._totals)

    def _count(self, fragments: FragmentList, is_reliable: bool, has_grown: bool) -> None:
        """Compute the totals. If the version ``has_grown``, ``fragments`` are only its new ones."""
        if has_grown and is_reliable == self._is_reliable:
            new = VersionTotals.of(fragments, is_reliable)
            self._totals = VersionTotals(*map(add, self._totals, new))
            self._parts.append(fragments)
            return
        before = sum(self._parts[1:], self._parts[0])
        if has_grown:
            fragments = before + fragments
        fragments.share_counts(before)
        self._parts, self._is_reliable = [fragments], is_reliable
        self._totals = VersionTotals.of(fragments, is_reliable)
