"""The command ``lance-core diff``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core_cli.records import Record, RecordCommand, operation_name


class Diff(RecordCommand):
    """Tells what differs between two versions: rows, columns, fragments, indices, operations."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the two versions."""
        super().configure(parser)
        parser.add_argument("old", type=int, metavar="OLD", help="a version of the table")
        parser.add_argument("new", type=int, metavar="NEW", help="a version of the table")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record for each kind of difference; none if the versions are equal."""
        old, new = table.checkout_version(options.old), table.checkout_version(options.new)
        if old.count_rows() != new.count_rows():
            yield {"changed": "rows", "old": old.count_rows(), "new": new.count_rows()}
        parts: tuple[tuple[str, dict[Any, Any], dict[Any, Any]], ...] = (
            ("columns", _columns(old), _columns(new)),
            ("fragments", _fragments(old), _fragments(new)),
            ("indices", _indices(old), _indices(new)),
            ("configuration", old.config(), new.config()),
            ("schema metadata", _metadata(old), _metadata(new)),
        )
        for what, before, after in parts:
            added = sorted(after.keys() - before.keys())
            removed = sorted(before.keys() - after.keys())
            other = sorted(n for n in before.keys() & after.keys() if before[n] != after[n])
            if added or removed or other:
                yield {"changed": what, "added": added, "removed": removed, "replaced": other}
        for version in range(min(options.old, options.new) + 1, max(options.old, options.new) + 1):
            yield {"version": version, "operation": operation_name(table, version)}

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        if "version" in record:
            yield f"version {record['version']}: {record['operation'] or 'unknown'}"
        elif "old" in record:
            yield f"rows: {record['old']} -> {record['new']}"
        else:
            parts = [
                f"{what} {one_line(', '.join(map(str, record[what])))}"
                for what in ("added", "removed", "replaced")
                if record[what]
            ]
            yield f"{record['changed']}: {'; '.join(parts)}"


def _columns(table: LanceDataset) -> dict[str, str]:
    return {field.name: str(field) for field in table.schema}


def _metadata(table: LanceDataset) -> dict[str, str]:
    metadata = table.schema.metadata or {}
    return {str(name): str(value) for name, value in metadata.items()}


def _fragments(table: LanceDataset) -> dict[int, str]:
    return {f.fragment_id: repr(f.metadata) for f in table.get_fragments()}


def _indices(table: LanceDataset) -> dict[str, list[str]]:
    return {
        index.name: sorted(str(segment.uuid) for segment in index.segments)
        for index in table.describe_indices()
    }
