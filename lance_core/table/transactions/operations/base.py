"""What all operations have in common."""

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
    """Kinds of operations as far as conflicts tell them apart; the value is for error texts."""

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
        """What this operation is to the conflict rules; several if it does several things."""

    @property
    def touched_fragments(self) -> frozenset[int]:
        """Ids of the existing fragments whose rows or columns this changes, moves or removes."""
        return frozenset()

    @property
    def affected_rows(self) -> Mapping[int, RowOffsets] | None:
        """Physical offsets, by fragment id, of existing rows that this deletes or moves, if known.

        Never stored: only who made the operation knows.
        """
        return None

    @abstractmethod
    def apply(self, draft: Draft) -> Draft:
        """The content after this operation.

        Raises `InvalidInputError` if it does not fit ``draft`` and `UnsupportedFeatureError` if
        this library can only read the operation.
        """

    @abstractmethod
    def add_to(self, message: transaction_pb2.Transaction) -> None:
        """Set the operation of a transaction's message."""
