"""The command ``lance-core sql``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core_cli.looking.rows import row_words
from lance_core_cli.records import Record, RecordCommand

TABLE = "dataset"
"""The name of the table in a query."""


class Sql(RecordCommand):
    """Prints the result of an SQL query over a table."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the query."""
        super().configure(parser)
        parser.add_argument("query", metavar="QUERY", help=f"SQL; the table is called {TABLE}")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record for each row.

        Raises `UnsupportedFeatureError` without DataFusion, `InvalidInputError` for other text.
        """
        for batch in table.sql(options.query).table_name(TABLE).build().to_stream_reader():
            yield from batch.to_pylist()

    def words(self, record: Record) -> Iterator[str]:
        """One line; long values are cut."""
        yield row_words(record)
