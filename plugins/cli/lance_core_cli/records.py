"""Commands whose output is a list of records: lines for people, or JSON for programs."""

from __future__ import annotations

import argparse
import json
import shlex
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from lance_core import LanceDataset
from lance_core.commands import Command, add_table, open_table
from lance_core.errors import CorruptFileError, ObjectNotFoundError

Record: TypeAlias = dict[str, Any]
"""What one line of JSON says: values of JSON, times and other objects by their text."""


def operation_name(table: LanceDataset, version: int) -> str | None:
    """The class of the operation that made a version; None if its transaction is not stored."""
    transaction = table.read_transaction(version)
    return None if transaction is None else type(transaction.operation).__name__


@contextmanager
def points_to_verify(options: argparse.Namespace) -> Iterator[None]:
    """Add to the error of a damaged table what a user can do about it.

    Raises `CorruptFileError` in place of the errors of damaged and missing files.
    """
    try:
        yield
    except (CorruptFileError, ObjectNotFoundError) as error:
        command = f"lance-core verify {shlex.quote(options.table)}"
        raise CorruptFileError(f"{error}. What else is damaged: {command}") from error


class RecordCommand(Command):
    """A command about a table. ``--json`` prints each record as a line of JSON."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table and ``--json``; a subclass adds its own arguments."""
        add_table(parser)
        parser.add_argument("--json", action="store_true", help="a line of JSON for each record")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The records as JSON, or in words."""
        with points_to_verify(options):
            for record in self.records(open_table(options), options):
                if options.json:
                    yield json.dumps(record, default=str, ensure_ascii=True)
                else:
                    yield from self.words(record)

    @abstractmethod
    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """What the command says of ``table``."""

    @abstractmethod
    def words(self, record: Record) -> Iterator[str]:
        """The lines that tell a person what ``record`` has."""
