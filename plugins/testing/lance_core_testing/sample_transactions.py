"""Small transactions without data files, and the uuids in a table's history."""

from __future__ import annotations

import uuid

import pyarrow as pa

from lance_core.commits.history import read_transaction
from lance_core.commits.options import CommitOptions
from lance_core.hookspecs.commits import Candidate, CommitHandler, Environment
from lance_core.hookspecs.file_versions import Schema
from lance_core.hookspecs.stores import ObjectStore
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import serialize_manifest_file
from lance_core.table.paths import NamingScheme
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import Append, Overwrite
from lance_core.table.transactions.transaction import Transaction

SCHEMA = Schema.from_arrow(pa.schema([("x", pa.int64())]))
ROWS = 10

IMPATIENT = Environment(sleep=lambda _: None)
"""The system environment, but sleeping takes no time."""

PATIENT = CommitOptions(max_retries=200)
"""Options for many concurrent writers."""


def creation() -> Transaction:
    """Creates a table with one fragment."""
    return Transaction(0, str(uuid.uuid4()), Overwrite((_fragment(),), SCHEMA))


def append(read_version: int) -> Transaction:
    """Adds one fragment."""
    return Transaction(read_version, str(uuid.uuid4()), Append((_fragment(),)))


def first_candidate(naming: NamingScheme = NamingScheme.V2, version: int = 1) -> Candidate:
    """A candidate for a new table; a ``version`` other than 1 changes only its name.

    Each call returns a different manifest, as two writers do.
    """
    return candidate_of(creation(), naming, version)


def candidate_of(
    transaction: Transaction,
    naming: NamingScheme = NamingScheme.V2,
    version: int = 1,
    timestamp_ns: int = 1,
) -> Candidate:
    """The candidate for a transaction that creates a table."""
    file = apply(None, transaction, CommitFacts(timestamp_ns))
    return Candidate(
        version=version,
        naming=naming,
        data=serialize_manifest_file(file),
        transaction_uuid=transaction.uuid,
        transaction=transaction.to_bytes(),
    )


def history(handler: CommitHandler, store: ObjectStore) -> list[str]:
    """The uuids of the transactions of all versions, oldest first."""
    transactions = [read_transaction(store, location) for location in handler.list_versions()]
    return ["" if transaction is None else transaction.uuid for transaction in transactions]


def _fragment() -> Fragment:
    file = DataFile(f"{uuid.uuid4()}.lance", (0,), (0,), 2, 0, 100)
    return Fragment(0, (file,), physical_rows=ROWS)
