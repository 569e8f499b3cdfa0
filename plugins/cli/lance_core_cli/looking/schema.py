"""The command ``lance-core schema``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core_cli.fields import nested
from lance_core_cli.records import Record, RecordCommand


class SchemaFields(RecordCommand):
    """Lists the fields of a table, nested ones below their parents."""

    def records(self, table: LanceDataset, _options: argparse.Namespace) -> Iterator[Record]:
        """One record for each field; ``depth`` is 0 for a column."""
        for depth, field in nested(table.lance_schema.fields()):
            arrow = field.to_arrow()
            has_parts = len(field.children()) > 0
            yield {
                "id": field.id(),
                "name": field.name(),
                "depth": depth,
                "type": str(arrow.type).partition("<")[0] if has_parts else str(arrow.type),
                "nullable": arrow.nullable,
            }

    def words(self, record: Record) -> Iterator[str]:
        """One line, indented as the field is nested."""
        name, type_name = one_line(record["name"]), one_line(record["type"])
        null = "" if record["nullable"] else " not null"
        yield f"{record['id']:>4}  {'  ' * record['depth']}{name}: {type_name}{null}"
