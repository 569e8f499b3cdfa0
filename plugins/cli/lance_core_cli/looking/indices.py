"""The command ``lance-core indices``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from lance_core_cli.records import Record, RecordCommand


class Indices(RecordCommand):
    """Lists the indices of a table, each with its segments."""

    def records(self, table: LanceDataset, _options: argparse.Namespace) -> Iterator[Record]:
        """One record for each index."""
        rows = table.count_rows()
        for index in table.describe_indices():
            record: Record = {
                "name": index.name,
                "type": index.index_type,
                "columns": list(index.field_names),
                "bytes": index.total_size_bytes,
                "rows_indexed": index.num_rows_indexed,
                "rows": rows,
            }
            if index.index_type == "Unknown":
                record["not_used"] = _why_not_used(index.type_url)
            record["segments"] = [
                {
                    "uuid": str(segment.uuid),
                    "fragments": len(segment.fragment_ids),
                    "built_from_version": segment.dataset_version_at_last_update,
                    "statistics": statistics,
                }
                for segment, statistics in zip(
                    index.segments, _statistics(table, index.name, len(index.segments)), strict=True
                )
            ]
            yield record

    def words(self, record: Record) -> Iterator[str]:
        """The index, its coverage, and one line for each segment."""
        columns = one_line(", ".join(record["columns"]))
        size = "unknown size" if record["bytes"] is None else f"{record['bytes']} bytes"
        yield f"{one_line(record['name'])}: {record['type']} of {columns}, {size}"
        if "not_used" in record:
            yield f"  not used: {one_line(record['not_used'])}"
        segments = record["segments"]
        covered = f"{record['rows_indexed']} of {record['rows']} rows indexed"
        yield f"  {covered}, segments: {len(segments)}"
        for segment in segments:
            shown = ", ".join(f"{name} {value}" for name, value in segment["statistics"].items())
            built = f"built from version {segment['built_from_version']}"
            fragments = f"{segment['fragments']} fragments"
            yield f"  {segment['uuid']}  {fragments}  {built}  {one_line(shown)}"


def _statistics(table: LanceDataset, name: str, count: int) -> list[dict[str, Any]]:
    try:
        segments: list[dict[str, Any]] = table.stats.index_stats(name)["segments"]
    except LanceError as error:
        return [{"damaged": str(error)}] * count
    return segments


def _why_not_used(type_url: str) -> str:
    """The type that is not known, and the extra that would use it."""
    remedy = get_manager().missing_index_type(type_url)
    end = "" if remedy is None else f": {remedy}"
    return f"the type {type_url} or its version is not known{end}"
