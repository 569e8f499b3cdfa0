"""The commands ``lance-core count`` and ``lance-core head``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core_cli.records import Record, RecordCommand

MAX_SHOWN = 60
"""Characters of a value that a line for people shows."""


class Count(RecordCommand):
    """Counts the rows of a table, or those that a filter selects."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--filter``."""
        super().configure(parser)
        parser.add_argument("--filter", metavar="SQL", help="count only these rows")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record."""
        yield {"rows": table.count_rows(options.filter)}

    def words(self, record: Record) -> Iterator[str]:
        """The number."""
        yield str(record["rows"])


class Head(RecordCommand):
    """Prints the first rows of a table, or of those that a filter selects."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--rows``, ``--columns`` and ``--filter``."""
        super().configure(parser)
        parser.add_argument("--rows", type=int, default=10, metavar="N", help="by default 10")
        parser.add_argument("--columns", metavar="A,B", help="by default all")
        parser.add_argument("--filter", metavar="SQL", help="only these rows")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record for each row. Raises `InvalidInputError` for columns that do not exist."""
        columns = options.columns.split(",") if options.columns else None
        rows = table.to_table(columns=columns, filter=options.filter, limit=options.rows)
        yield from rows.to_pylist()

    def words(self, record: Record) -> Iterator[str]:
        """One line; long values are cut."""
        yield row_words(record)


def row_words(record: Record) -> str:
    """A row as one line of names and values, long ones cut."""
    return "  ".join(f"{one_line(name)}={_shown(value)}" for name, value in record.items())


def _shown(value: object) -> str:
    text = one_line(str(value))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
