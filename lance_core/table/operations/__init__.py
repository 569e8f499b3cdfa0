"""Operations: what a transaction does to a table. One module for each."""

from lance_core.table.operations.append import Append
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.operations.clone import Clone
from lance_core.table.operations.create_index import CreateIndex
from lance_core.table.operations.data_replacement import DataReplacement, DataReplacementGroup
from lance_core.table.operations.delete import Delete
from lance_core.table.operations.key_filter import BloomKeys, ExactKeys, KeyExistenceFilter
from lance_core.table.operations.merge import Merge
from lance_core.table.operations.overwrite import Overwrite
from lance_core.table.operations.preserved import PreservedOperation
from lance_core.table.operations.project import Project
from lance_core.table.operations.reserve_fragments import ReserveFragments
from lance_core.table.operations.restore import Restore
from lance_core.table.operations.rewrite import Rewrite, RewriteGroup, RewrittenIndex
from lance_core.table.operations.unknown import UnknownOperation
from lance_core.table.operations.update import Update, UpdateMode
from lance_core.table.operations.update_bases import UpdateBases
from lance_core.table.operations.update_config import UpdateConfig
from lance_core.table.operations.update_map import UpdateMap

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
