"""Operations: the changes that a transaction makes to a table. One module per operation."""

from lance_core.table.transactions.operations.append import Append
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.transactions.operations.clone import Clone
from lance_core.table.transactions.operations.create_index import CreateIndex
from lance_core.table.transactions.operations.data_replacement import (
    DataReplacement,
    DataReplacementGroup,
)
from lance_core.table.transactions.operations.delete import Delete
from lance_core.table.transactions.operations.key_filter import (
    BloomKeys,
    ExactKeys,
    KeyExistenceFilter,
)
from lance_core.table.transactions.operations.merge import Merge
from lance_core.table.transactions.operations.overwrite import Overwrite
from lance_core.table.transactions.operations.preserved import PreservedOperation
from lance_core.table.transactions.operations.project import Project
from lance_core.table.transactions.operations.reserve_fragments import ReserveFragments
from lance_core.table.transactions.operations.restore import Restore
from lance_core.table.transactions.operations.rewrite import Rewrite, RewriteGroup, RewrittenIndex
from lance_core.table.transactions.operations.unknown import UnknownOperation
from lance_core.table.transactions.operations.update import Update, UpdateMode
from lance_core.table.transactions.operations.update_bases import UpdateBases
from lance_core.table.transactions.operations.update_config import UpdateConfig
from lance_core.table.transactions.operations.update_map import UpdateMap

__all__ = [
    "Append",
    "BloomKeys",
    "Clone",
    "CreateIndex",
    "DataReplacement",
    "DataReplacementGroup",
    "Delete",
    "ExactKeys",
    "KeyExistenceFilter",
    "Merge",
    "Operation",
    "OperationKind",
    "Overwrite",
    "PreservedOperation",
    "Project",
    "ReserveFragments",
    "Restore",
    "Rewrite",
    "RewriteGroup",
    "RewrittenIndex",
    "UnknownOperation",
    "Update",
    "UpdateBases",
    "UpdateConfig",
    "UpdateMap",
    "UpdateMode",
]
