"""Names of pylance's compiled module, for programs with ``from lance.lance import Compaction``."""

from lance_core.dataset import (
    CleanupCandidateFile,
    CleanupExplanation,
    CleanupReferencedBranch,
    CleanupStats,
    Compaction,
    CompactionMetrics,
    CompactionPlan,
    CompactionTask,
    DatasetBasePath,
    DeletionFile,
    RewriteResult,
    RowIdSequence,
    ScanStatistics,
    bytes_read_counter,
    iops_counter,
)
from lance_core.schema import LanceSchema

__all__ = [
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "Compaction",
    "CompactionMetrics",
    "CompactionPlan",
    "CompactionTask",
    "DatasetBasePath",
    "DeletionFile",
    "LanceSchema",
    "RewriteResult",
    "RowIdSequence",
    "ScanStatistics",
    "bytes_read_counter",
    "iops_counter",
]
