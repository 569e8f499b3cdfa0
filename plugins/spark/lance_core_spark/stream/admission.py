"""The limits of a micro-batch."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
)

from lance_core_spark.options.stream_options import LanceStreamOptions
from lance_core_spark.stream.version_changes import VersionRows


def default_limit(options: LanceStreamOptions) -> ReadLimit:
    """The limit that Spark passes to each micro-batch with limits; it knows one kind at a time."""
    if options.max_rows is not None:
        return ReadMaxRows(options.max_rows)
    if options.max_bytes is not None:
        return ReadMaxBytes(options.max_bytes)
    if options.max_versions is not None:
        return ReadMaxFiles(options.max_versions)
    return ReadAllAvailable()


@dataclass(slots=True)
class Allowance:
    """What a micro-batch may still read; None: no limit.

    Rows include deleted ones, and bytes are those of all columns' files.
    """

    versions: int | None = None
    rows: int | None = None
    bytes: int | None = None

    @classmethod
    def of(cls, options: LanceStreamOptions, limit: ReadLimit) -> Allowance:
        """The limits of the options, unless Spark wants all rows (a trigger without limits)."""
        if isinstance(limit, ReadAllAvailable):
            return cls()
        return cls(options.max_versions, options.max_rows, options.max_bytes)

    @property
    def is_used_up(self) -> bool:
        return any(
            left is not None and left <= 0 for left in (self.versions, self.rows, self.bytes)
        )

    def take(self, version: VersionRows, done: int) -> int:
        """Take rows of ``version`` after the first ``done`` rows, and return their number.

        At least one row is taken; all of them if they cannot be divided.
        """
        left = version.rows - done
        row_bytes = version.bytes / max(1, version.rows)
        count = left
        if not version.is_diff:
            by_bytes = None if self.bytes is None else int(self.bytes / max(row_bytes, 1e-9))
            limits = [limit for limit in (self.rows, by_bytes) if limit is not None]
            count = min(left, max(1, min(limits, default=left)))
        if self.versions is not None:
            self.versions -= 1
        if self.rows is not None:
            self.rows -= count
        if self.bytes is not None:
            self.bytes -= int(count * row_bytes)
        return count
