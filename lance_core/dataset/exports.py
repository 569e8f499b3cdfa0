"""The public names of this package, each with the module that defines it.

The package imports a module on the first access to one of its names.
"""

HOMES = {
    "BlobColumn": "lance_core.dataset.blobs.column",
    "BlobFile": "lance_core.dataset.blobs.file",
    "Blob": "lance_core.dataset.blobs.type",
    "BlobArray": "lance_core.dataset.blobs.type",
    "blob_array": "lance_core.dataset.blobs.type",
    "blob_field": "lance_core.dataset.blobs.type",
    "LanceDataset": "lance_core.dataset.dataset",
    "DatasetDelta": "lance_core.dataset.delta",
    "LanceFragment": "lance_core.dataset.fragment",
    "CleanupCandidateFile": "lance_core.dataset.maintenance.cleanup",
    "CleanupExplanation": "lance_core.dataset.maintenance.cleanup",
    "CleanupReferencedBranch": "lance_core.dataset.maintenance.cleanup",
    "CleanupStats": "lance_core.dataset.maintenance.cleanup",
    "migrate_manifest_paths_v2": "lance_core.dataset.maintenance.naming_migration",
    "LanceScanner": "lance_core.dataset.scanner",
    "DataStatistics": "lance_core.dataset.statistics",
    "FieldStatistics": "lance_core.dataset.statistics",
    "LanceStats": "lance_core.dataset.statistics",
    "AutoCleanupConfig": "lance_core.dataset.values.auto_cleanup_options",
    "DatasetBasePath": "lance_core.dataset.values.base_path",
    "DataFile": "lance_core.dataset.values.fragment_metadata",
    "DeletionFile": "lance_core.dataset.values.fragment_metadata",
    "FragmentMetadata": "lance_core.dataset.values.fragment_metadata",
    "Index": "lance_core.dataset.values.index",
    "IndexFile": "lance_core.dataset.values.index",
    "LANCE_COMMIT_MESSAGE_KEY": "lance_core.dataset.values.transaction",
    "LanceOperation": "lance_core.dataset.values.operations",
    "Transaction": "lance_core.dataset.values.transaction",
    "BulkCommitResult": "lance_core.dataset.write.commit_batch",
    "discard_fragments": "lance_core.dataset.write.write",
    "write_fragments": "lance_core.dataset.write.write",
}
