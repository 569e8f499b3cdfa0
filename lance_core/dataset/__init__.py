"""The public API of tables: open, scan, take, write. One module per verb."""

from typing import TYPE_CHECKING

from lance_core.dataset.api import write_dataset

if TYPE_CHECKING:
    from lance_core.dataset.blobs.column import BlobColumn
    from lance_core.dataset.blobs.file import BlobFile
    from lance_core.dataset.blobs.type import Blob, BlobArray, blob_array, blob_field
    from lance_core.dataset.branches import Branches
    from lance_core.dataset.compaction import (
        Compaction,
        CompactionPlan,
        CompactionTask,
        RewriteResult,
    )
    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.delta import DatasetDelta
    from lance_core.dataset.fragment import FragmentSession, LanceFragment
    from lance_core.dataset.maintenance.cleanup import (
        CleanupCandidateFile,
        CleanupExplanation,
        CleanupReferencedBranch,
        CleanupStats,
    )
    from lance_core.dataset.maintenance.indices.describe import IndexInformation
    from lance_core.dataset.maintenance.io_stats import IOStats
    from lance_core.dataset.maintenance.naming_migration import migrate_manifest_paths_v2
    from lance_core.dataset.merge_insert import MergeInsertBuilder
    from lance_core.dataset.optimize import DatasetOptimizer
    from lance_core.dataset.read.columns.ordering import ColumnOrdering
    from lance_core.dataset.read.scan_metrics import ScanStatistics
    from lance_core.dataset.read.sources.row_masks import serialize_row_addrs
    from lance_core.dataset.read.sources.scan_splits import ScanSplit
    from lance_core.dataset.scanner import LanceScanner, TaggedRecordBatch
    from lance_core.dataset.scanner_builder import ScannerBuilder
    from lance_core.dataset.snapshot.session import Session
    from lance_core.dataset.sql_query import SqlQuery, SqlQueryBuilder
    from lance_core.dataset.statistics import DataStatistics, FieldStatistics, LanceStats
    from lance_core.dataset.tags import Tags
    from lance_core.dataset.values.auto_cleanup_options import AutoCleanupConfig
    from lance_core.dataset.values.base_path import DatasetBasePath
    from lance_core.dataset.values.bitmap import Bitmap
    from lance_core.dataset.values.compaction import (
        CompactionCheck,
        CompactionMetrics,
        CompactionOptions,
    )
    from lance_core.dataset.values.fragment_metadata import DataFile, DeletionFile, FragmentMetadata
    from lance_core.dataset.values.index import Index, IndexFile, IndexSegment
    from lance_core.dataset.values.index_config import IndexConfig, SupportedDistributedIndices
    from lance_core.dataset.values.listings import (
        Branch,
        DatasetStats,
        Tag,
        Version,
        VersionRef,
    )
    from lance_core.dataset.values.operations import LanceOperation
    from lance_core.dataset.values.row_id_sequence import RowIdSequence
    from lance_core.dataset.values.row_metadata import RowDatasetVersionMeta, RowIdMeta
    from lance_core.dataset.values.transaction import LANCE_COMMIT_MESSAGE_KEY, Transaction
    from lance_core.dataset.write.commit_batch import BulkCommitResult
    from lance_core.dataset.write.delete import DeleteResult
    from lance_core.dataset.write.merge_insert.merge import ExecuteResult
    from lance_core.dataset.write.row_changes import RowChangeCommit, RowChangeCounts, RowChanges
    from lance_core.dataset.write.schema_evolution.alter_columns import AlterColumn
    from lance_core.dataset.write.schema_evolution.udf import (
        BatchUDF,
        BatchUDFCheckpoint,
        batch_udf,
    )
    from lance_core.dataset.write.update import UpdateResult
    from lance_core.dataset.write.write import discard_fragments, write_fragments
    from lance_core.schema import LanceSchema
    from lance_core.store.process_reads import bytes_read_counter, iops_counter

__all__ = [
    "LANCE_COMMIT_MESSAGE_KEY",
    "AlterColumn",
    "AutoCleanupConfig",
    "BatchUDF",
    "BatchUDFCheckpoint",
    "Bitmap",
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobFile",
    "Branch",
    "Branches",
    "BulkCommitResult",
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "ColumnOrdering",
    "Compaction",
    "CompactionCheck",
    "CompactionMetrics",
    "CompactionOptions",
    "CompactionPlan",
    "CompactionTask",
    "DataFile",
    "DataStatistics",
    "DatasetBasePath",
    "DatasetDelta",
    "DatasetOptimizer",
    "DatasetStats",
    "DeleteResult",
    "DeletionFile",
    "ExecuteResult",
    "FieldStatistics",
    "FragmentMetadata",
    "FragmentSession",
    "IOStats",
    "Index",
    "IndexConfig",
    "IndexFile",
    "IndexInformation",
    "IndexSegment",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "LanceSchema",
    "LanceStats",
    "MergeInsertBuilder",
    "RewriteResult",
    "RowChangeCommit",
    "RowChangeCounts",
    "RowChanges",
    "RowDatasetVersionMeta",
    "RowIdMeta",
    "RowIdSequence",
    "ScanSplit",
    "ScanStatistics",
    "ScannerBuilder",
    "Session",
    "SqlQuery",
    "SqlQueryBuilder",
    "SupportedDistributedIndices",
    "Tag",
    "TaggedRecordBatch",
    "Tags",
    "Transaction",
    "UpdateResult",
    "Version",
    "VersionRef",
    "batch_udf",
    "blob_array",
    "blob_field",
    "bytes_read_counter",
    "discard_fragments",
    "iops_counter",
    "migrate_manifest_paths_v2",
    "serialize_row_addrs",
    "write_dataset",
    "write_fragments",
]


def __getattr__(name: str) -> object:
    """Import a public name on first access, so that `import lance_core` stays fast."""
    from lance_core.imports.on_demand import import_module

    if name not in __all__:
        provided = import_module("lance_core.imports.provided_names").provided
        return provided(__name__, "DocumentGranularity", "FullTextQuery")(name)
    homes = import_module("lance_core.dataset.exports").HOMES
    return getattr(import_module(homes[name]), name)
