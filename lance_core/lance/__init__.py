"""Names of pylance's compiled module, for programs with ``from lance.lance import Compaction``.

Readers, writers and sessions of files are those of `lance_core.file`. `tokenize` and `FtsToken`
come with the extra ``text``, bfloat16 and writers of blobs with ``arrays``.
"""

from typing import Any

from lance_core.dataset import (
    Bitmap,
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
    IOStats,
    RewriteResult,
    RowDatasetVersionMeta,
    RowIdMeta,
    RowIdSequence,
    ScanStatistics,
    bytes_read_counter,
    iops_counter,
)
from lance_core.dataset.storage_access import StorageOptionsAccessor
from lance_core.debug import (
    format_fragment,
    format_manifest,
    format_schema,
    list_transactions,
    simd_info,
)
from lance_core.file import (
    LanceBufferDescriptor,
    LanceColumnMetadata,
    LanceFileMetadata,
    LanceFileReader,
    LanceFileSession,
    LanceFileStatistics,
    LanceFileWriter,
    LancePageMetadata,
    stable_version,
)
from lance_core.imports.provided_names import provided
from lance_core.schema import LanceSchema

__all__ = [
    "Bitmap",
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
    "IOStats",
    "LanceBufferDescriptor",
    "LanceColumnMetadata",
    "LanceFileMetadata",
    "LanceFileReader",
    "LanceFileSession",
    "LanceFileStatistics",
    "LanceFileWriter",
    "LancePageMetadata",
    "LanceSchema",
    "RewriteResult",
    "RowDatasetVersionMeta",
    "RowIdMeta",
    "RowIdSequence",
    "ScanStatistics",
    "StorageOptionsAccessor",
    "bytes_read_counter",
    "format_fragment",
    "format_manifest",
    "format_schema",
    "iops_counter",
    "list_transactions",
    "simd_info",
    "stable_version",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(
        __name__,
        *("BFloat16", "BlobDescriptor", "BlobDescriptorArrayBuilder", "DedicatedBlobWriter"),
        *("FtsToken", "PackedBlobWriter", "bfloat16_array", "tokenize"),
    )(name)
