"""Base class and kinds of operations."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_core._pb import transaction_pb2
from lance_core.table.manifest.manifest_draft import Draft

if TYPE_CHECKING:
    from lance_core.table.fragments.deletion import RowOffsets


class OperationKind(enum.Enum):
    """Kinds of operations that the conflict rules distinguish; the value is for error messages."""

    APPEND = "Append"
    DELETE = "Delete"
    UPDATE_ROWS = "Update (rows)"
    UPDATE_COLUMNS = "Update (columns)"
    OVERWRITE = "Overwrite"
    CREATE_INDEX = "CreateIndex"
    REWRITE = "Rewrite"
    MERGE = "Merge"
    MERGE_SAFE = "Merge (preserves nullability)"
    PROJECT = "Project"
    PROJECT_SAFE = "Project (preserves nullability)"
    RESTORE = "Restore"
    UPDATE_CONFIG = "UpdateConfig"
    UPDATE_METADATA = "UpdateConfig (schema or field metadata)"
    DATA_REPLACEMENT = "DataReplacement"
    RESERVE_FRAGMENTS = "ReserveFragments"
    UPDATE_MEM_WAL = "UpdateMemWalState"
    CLONE = "Clone"
    UPDATE_BASES = "UpdateBases"
    DATA_OVERLAY = "DataOverlay"
    UNKNOWN = "an unknown operation"


class Operation(ABC):
    """A change of a table. Subclasses are frozen dataclasses."""

    __slots__ = ()

    @property
    @abstractmethod
    def kinds(self) -> tuple[OperationKind, ...]:
        """Kinds of this operation for the conflict rules; several if it has several effects."""

    @property
    def touched_fragments(self) -> frozenset[int]:
        """Ids of the existing fragments whose rows or columns the operation changes or removes."""
        return frozenset()

    @property
    def affected_rows(self) -> Mapping[int, RowOffsets] | None:
        """Physical offsets by fragment id of the existing rows that the operation deletes or moves.

        None if unknown: the offsets are not stored, so only the creator of the operation has them.
        """
        return None

    @abstractmethod
    def apply(self, draft: Draft) -> Draft:
        """The draft after this operation.

        Raises `InvalidInputError` if the operation does not fit ``draft``, and
        `UnsupportedFeatureError` if this library cannot apply it.
        """

    @abstractmethod
    def add_to(self, message: transaction_pb2.Transaction) -> None:
        """Set the operation in the message of a transaction."""
