"""The command ``lance-core files``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core_cli.records import Record, RecordCommand


class Files(RecordCommand):
    """Lists the fragments of a table, each with its data files."""

    def records(self, table: LanceDataset, _options: argparse.Namespace) -> Iterator[Record]:
        """One record for each fragment."""
        for fragment in table.get_fragments():
            metadata = fragment.metadata
            yield {
                "fragment": fragment.fragment_id,
                "rows": fragment.physical_rows,
                "deleted": fragment.num_deletions,
                "files": [
                    {
                        "path": f"data/{file.path}",
                        "file_version": f"{file.file_major_version}.{file.file_minor_version}",
                        "bytes": file.file_size_bytes,
                        "fields": file.fields,
                    }
                    for file in metadata.files
                ],
            }

    def words(self, record: Record) -> Iterator[str]:
        """One line for the fragment and one for each file."""
        gone = f", {record['deleted']} deleted" if record["deleted"] else ""
        yield f"fragment {record['fragment']}: {record['rows']} rows{gone}"
        for file in record["files"]:
            size = f"{file['bytes']} bytes" if file["bytes"] else "unknown size"
            fields = ",".join(map(str, file["fields"]))
            path = one_line(file["path"])
            yield f"  {path}  version {file['file_version']}  {size}  fields {fields}"
