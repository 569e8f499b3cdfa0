"""Runs a streaming read as Spark does, without Spark."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable

import lance_core
from pyspark_lance import DefaultSource


def append(
    uri: Path, *ids: int, spare: list[int] | None = None, **options: Any
) -> lance_core.LanceDataset:
    """Append rows with these ids, the value 0, and perhaps another column."""
    rows = pa.table({"id": list(ids), "value": [0] * len(ids)})
    if spare is not None:
        rows = rows.append_column("spare", [spare])
    return lance_core.write_dataset(rows, uri, mode="append", **options)


@dataclass
class Stream:
    """A query: its options, and the offset in its checkpoint."""

    uri: Path
    options: dict[str, Any] = field(default_factory=dict)
    offset: dict[str, Any] | None = None

    def reader(self) -> DataSourceStreamReader:
        """A new reader, as Spark makes them at several points."""
        given = {name: str(value) for name, value in self.options.items()}
        source = DefaultSource({"path": str(self.uri), **given})
        return source.streamReader(source.schema())

    def next(self, reader: DataSourceStreamReader | None = None) -> list[dict[str, Any]]:
        """The rows of one micro-batch."""
        reader = reader or self.reader()
        start = self.offset or _stored(reader.initialOffset())
        end = _stored(reader.latestOffset(start, reader.getDefaultReadLimit()))
        rows = self.rows(start, end)
        assert rows == self.rows(start, end)  # a batch that is repeated has the same rows
        self.offset = end
        return rows

    def rows(self, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
        planner, task = self.reader(), pickle.loads(pickle.dumps(self.reader()))
        partitions = pickle.loads(pickle.dumps(planner.partitions(start, end)))
        batches = [batch for partition in partitions for batch in task.read(partition)]
        return pa.Table.from_batches(batches).to_pylist() if batches else []

    def ids(self) -> list[int]:
        """The ids of one micro-batch."""
        return [row["id"] for row in self.next()]

    def batches(self) -> list[list[int]]:
        """The ids of all micro-batches with rows, until the stream has caught up."""
        found = []
        while True:
            before = self.offset
            found.append(self.ids())
            if self.offset == before:
                return [ids for ids in found if ids]

    def all(self) -> list[int]:
        """The ids that a trigger without limits delivers."""
        reader = self.reader()
        start = self.offset or _stored(reader.initialOffset())
        end = _stored(reader.latestOffset(start, ReadAllAvailable()))
        self.offset = end
        return [row["id"] for row in self.rows(start, end)]


def _stored(offset: dict[str, Any]) -> dict[str, Any]:
    """The offset as the checkpoint returns it."""
    stored: dict[str, Any] = json.loads(json.dumps(offset))
    return stored
