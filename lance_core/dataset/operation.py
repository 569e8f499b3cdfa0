"""`LanceOperation` and `Transaction`: changes of a table as users hand them to a commit."""

from __future__ import annotations

import uuid as uuids
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lance_core.dataset.fragment_metadata import FragmentMetadata
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema
from lance_core.table import operations as stored
from lance_core.table.fragment import Fragment
from lance_core.table.transaction import Transaction as StoredTransaction


def _checked(fragments: Sequence[FragmentMetadata]) -> None:
    for fragment in fragments:
        if not isinstance(fragment, FragmentMetadata):
            raise TypeError(
                f"fragments must be list[FragmentMetadata], got {type(fragment).__name__}"
            )


class LanceOperation:
    """The kinds of changes; each is a class in here."""

    class BaseOperation(ABC):
        """A change of a table."""

        @abstractmethod
        def to_stored(self) -> stored.Operation:
            """The operation as a transaction holds it."""

    @dataclass
    class Append(BaseOperation):
        """New rows, in fragments whose files are written."""

        fragments: list[FragmentMetadata]

        def __post_init__(self) -> None:
            _checked(self.fragments)

        def to_stored(self) -> stored.Operation:
            """The operation as a transaction holds it."""
            return stored.Append(tuple(f.to_fragment() for f in self.fragments))

    @dataclass
    class Overwrite(BaseOperation):
        """A new table, or new content with its own schema for an existing one.

        Fragments get new ids; those with deleted rows are refused.
        """

        new_schema: pa.Schema | Schema
        fragments: list[FragmentMetadata]

        def __post_init__(self) -> None:
            _checked(self.fragments)
            if any(fragment.deletion_file is not None for fragment in self.fragments):
                raise InvalidInputError("an Overwrite cannot take fragments with deleted rows")

        def to_stored(self) -> stored.Operation:
            """The operation as a transaction holds it."""
            schema = self.new_schema
            if not isinstance(schema, Schema):
                schema = Schema.from_arrow(schema)
            return stored.Overwrite(tuple(f.to_fragment() for f in self.fragments), schema)

    @dataclass
    class Stored(BaseOperation):
        """An operation of a version's history that has no class of its own here yet."""

        operation: stored.Operation

        def to_stored(self) -> stored.Operation:
            """The operation as a transaction holds it."""
            return self.operation


@dataclass
class Transaction:
    """A change, the version it is based on, and an identity that every retry keeps."""

    read_version: int
    operation: LanceOperation.BaseOperation
    uuid: str = field(default_factory=lambda: str(uuids.uuid4()))
    transaction_properties: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, transaction: StoredTransaction) -> Transaction:
        """A transaction of the history."""
        return cls(
            transaction.read_version,
            _operation_of(transaction.operation),
            transaction.uuid,
            dict(transaction.properties),
        )

    def to_stored(self) -> StoredTransaction:
        """The transaction as it is written to the table."""
        return StoredTransaction(
            read_version=self.read_version,
            uuid=self.uuid,
            operation=self.operation.to_stored(),
            properties=dict(self.transaction_properties),
        )


def _operation_of(operation: stored.Operation) -> LanceOperation.BaseOperation:
    if isinstance(operation, stored.Append):
        return LanceOperation.Append(_metadata(operation.fragments))
    if isinstance(operation, stored.Overwrite):
        return LanceOperation.Overwrite(operation.schema, _metadata(operation.fragments))
    return LanceOperation.Stored(operation)


def _metadata(fragments: Sequence[Fragment]) -> list[FragmentMetadata]:
    return [FragmentMetadata.of(f, f.physical_rows or 0) for f in fragments]
