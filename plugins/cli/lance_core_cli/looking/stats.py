"""The command ``lance-core stats``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core_cli.fields import nested
from lance_core_cli.records import Record, RecordCommand


class Stats(RecordCommand):
    """Tells the size of a table, and of each column in bytes on disk."""

    def records(self, table: LanceDataset, _options: argparse.Namespace) -> Iterator[Record]:
        """One record of the table, then one for each column."""
        fragments = table.get_fragments()
        bytes_of = {field.id: field.bytes_on_disk for field in table.stats.data_stats().fields}
        yield {
            "version": table.version,
            "file_version": table.data_storage_version,
            "rows": table.count_rows(),
            "deleted_rows": sum(fragment.num_deletions for fragment in fragments),
            "fragments": len(fragments),
            "data_bytes": sum(bytes_of.values()),
        }
        for field in table.lance_schema.fields():
            yield {
                "column": field.name(),
                "bytes": sum(bytes_of.get(part.id(), 0) for _, part in nested([field])),
            }

    def words(self, record: Record) -> Iterator[str]:
        """One line for a column; of the table, one for each number."""
        if "column" in record:
            yield f"{record['bytes']:>14}  {one_line(record['column'])}"
        else:
            yield from (f"{name.replace('_', ' ')}: {value}" for name, value in record.items())
            yield "bytes of each column:"
