"""Operations: what a transaction does to a table. One module for each that can be applied."""

from lance_core.table.operations.append import Append
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.operations.delete import Delete
from lance_core.table.operations.overwrite import Overwrite
from lance_core.table.operations.preserved import PreservedOperation
from lance_core.table.operations.unknown import UnknownOperation

__all__ = [
    "Append",
    "Delete",
    "Operation",
    "OperationKind",
    "Overwrite",
    "PreservedOperation",
    "UnknownOperation",
]
