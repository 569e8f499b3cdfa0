"""Positions of a stream in the history of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lance_core.errors import InvalidInputError
from lance_core_spark.table_ref import TableVersion

_ALL = -1
"""The number of rows that stands for a whole version in Spark's checkpoint."""


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The end of the rows that a stream has delivered; Spark keeps it in the query's checkpoint.

    ``version``: the last version with delivered rows. Its ``timestamp``, None if the version is
    not known, distinguishes the table from one that was created again. ``rows``: number of
    delivered rows of the version, including deleted ones; None if the version is finished.
    ``is_snapshot``: the rows of the version are all that it contains, not only those it added.
    ``first``: the offset that the query started from, None if it is this one. Spark does not keep
    it, but asks for it again when it repeats the first micro-batch, perhaps after other commits.
    """

    version: int
    timestamp: datetime | None
    rows: int | None = None
    is_snapshot: bool = False
    first: StreamOffset | None = None

    @classmethod
    def after(cls, version: TableVersion, is_snapshot: bool = False) -> StreamOffset:
        """The end of a version."""
        return cls(version.number, version.timestamp, None, is_snapshot)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> StreamOffset:
        """The offset that `to_json` returned; raises `InvalidInputError` for other values."""
        try:
            version, rows, is_snapshot = stored["version"], stored["rows"], stored["snapshot"]
            text = stored["timestamp"]
            if type(version) is not int or type(rows) is not int or version < 0 or rows < _ALL:
                raise ValueError("a number is missing or negative")
            timestamp = datetime.fromisoformat(text) if text else None
            if type(is_snapshot) is not bool or (timestamp and timestamp.tzinfo is None):
                raise ValueError("a flag or a time zone is missing")
            first = None if stored["first"] is None else cls.of(stored["first"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"the checkpoint has the offset {str(stored)[:300]}, which is none of a Lance "
                f"table: {error}"
            ) from error
        return cls(version, timestamp, None if rows == _ALL else rows, is_snapshot, first)

    def to_json(self) -> dict[str, Any]:
        """The offset as values of JSON, always in the same order: Spark compares its text."""
        return {
            "version": self.version,
            "timestamp": "" if self.timestamp is None else self.timestamp.isoformat(),
            "rows": _ALL if self.rows is None else self.rows,
            "snapshot": self.is_snapshot,
            "first": None if self.first is None else self.first.to_json(),
        }
