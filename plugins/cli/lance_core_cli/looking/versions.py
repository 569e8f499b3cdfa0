"""The command ``lance-core versions``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core_cli.records import Record, RecordCommand, operation_name


class Versions(RecordCommand):
    """Lists the versions of a table, newest last, with time, rows and operation."""

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record for each version, or for that of ``--version``."""
        for version in table.versions():
            number = version["version"]
            if options.version not in (None, number):
                continue
            yield {
                "version": number,
                "time": version["timestamp"],
                "rows": int(version["metadata"]["total_rows"]),
                "operation": operation_name(table, number),
            }

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        made_by = record["operation"] or "unknown"
        time = f"{record['time']:%Y-%m-%d %H:%M:%S}"
        yield f"{record['version']}  {time}  {record['rows']} rows  {made_by}"
