"""``RowDatasetVersionSequence`` (``rowids.proto``): the creation or update version of each row."""

from __future__ import annotations

import numpy as np

from lance_core._pb import rowids_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.row_ids.u64_segment import Offsets, Ranges, Uint64s, segments_from_proto
from lance_core.table.unknown_fields import parse

FIRST_VERSION = 1
"""The version of rows in fragments that do not store their versions."""


@dataclass(frozen=True, slots=True, eq=False)
class RowVersions:
    """A table version for each physical row, in run-length encoding."""

    versions: Uint64s
    ends: Offsets
    """For each run, the number of rows up to its end."""

    @classmethod
    def uniform(cls, count: int, version: int) -> RowVersions:
        """The same version for ``count`` rows."""
        return cls(np.array([version], dtype=np.uint64), np.array([count], dtype=np.int64))

    @classmethod
    def of_rows(cls, versions: Uint64s) -> RowVersions:
        """The version of each row, as runs."""
        starts = np.flatnonzero(np.diff(versions, prepend=versions[:1] + np.uint64(1)))
        ends = np.append(starts[1:], len(versions)).astype(np.int64)
        return cls(versions[starts], ends[: len(starts)])

    @classmethod
    def from_bytes(cls, data: bytes, count: int) -> RowVersions:
        """Decode the sequence of a fragment of ``count`` physical rows.

        Only the number of values in a run's ``span`` is used. Raises `CorruptFileError` if the
        sequence is malformed or does not have ``count`` entries.
        """
        message = parse(rowids_pb2.RowDatasetVersionSequence, data, "RowDatasetVersionSequence")
        counts = [
            sum(segment.count for segment in segments_from_proto([run.span]))
            for run in message.runs
        ]
        if sum(counts) != count or count >= 1 << 63:
            raise CorruptFileError(
                f"a fragment of {count} rows has {sum(counts)} row versions",
                field="RowDatasetVersionSequence",
            )
        versions = np.array([run.version for run in message.runs], dtype=np.uint64)
        return cls(versions, np.cumsum(np.array(counts, dtype=np.int64)))

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.versions.nbytes + self.ends.nbytes

    def to_bytes(self) -> bytes:
        message = rowids_pb2.RowDatasetVersionSequence()
        counts = np.diff(self.ends, prepend=0).tolist()
        for version, count in zip(self.versions.tolist(), counts, strict=True):
            (span,) = Ranges.of([(0, count)]).to_proto()
            message.runs.add(span=span, version=version)
        return message.SerializeToString()

    def take(self, offsets: Offsets) -> Uint64s:
        """Versions of the physical rows at ``offsets``; all must be below ``ends[-1]``."""
        return self.versions[np.searchsorted(self.ends, offsets, side="right")]
