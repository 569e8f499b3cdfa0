"""What users do with tables: open, scan, take, write. One module per verb."""

from typing import TYPE_CHECKING

from lance_core.dataset.api import write_dataset

if TYPE_CHECKING:
    from lance_core.dataset.exports import (
        AutoCleanupConfig,
        Blob,
        BlobArray,
        BlobColumn,
        BlobFile,
        BulkCommitResult,
        CleanupCandidateFile,
        CleanupExplanation,
        CleanupReferencedBranch,
        CleanupStats,
        DataFile,
        DatasetBasePath,
        DataStatistics,
        DeletionFile,
        FieldStatistics,
        FragmentMetadata,
        Index,
        IndexFile,
        LanceDataset,
        LanceFragment,
        LanceOperation,
        LanceScanner,
        LanceStats,
        Transaction,
        blob_array,
        blob_field,
        discard_fragments,
        migrate_manifest_paths_v2,
        write_fragments,
    )

__all__ = [
    "AutoCleanupConfig",
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobFile",
    "BulkCommitResult",
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "DataFile",
    "DataStatistics",
    "DatasetBasePath",
    "DeletionFile",
    "FieldStatistics",
    "FragmentMetadata",
    "Index",
    "IndexFile",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "LanceStats",
    "Transaction",
    "blob_array",
    "blob_field",
    "discard_fragments",
    "migrate_manifest_paths_v2",
    "write_dataset",
    "write_fragments",
]


def __getattr__(name: str) -> object:
    """Import the rest when it is first asked for, so that `import lance_core` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core.on_demand import import_module

    return getattr(import_module("lance_core.dataset.exports"), name)
