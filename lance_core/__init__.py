"""Lance tables in Python: an independent implementation of the Lance table and file format.

``import lance_core as lance`` runs code written for pylance that uses only supported functions.
"""

from lance_core._version import __version__
from lance_core.dataset.api import dataset, write_dataset

__all__ = [
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobDescriptor",
    "BlobDescriptorArrayBuilder",
    "BlobFile",
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "DataStatistics",
    "DatasetBasePath",
    "DedicatedBlobWriter",
    "FieldStatistics",
    "FragmentMetadata",
    "FtsToken",
    "Index",
    "IndexFile",
    "IndexProgress",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "MergeInsertBuilder",
    "PackedBlobWriter",
    "ScanStatistics",
    "Session",
    "Transaction",
    "__version__",
    "arrow",
    "batch_udf",
    "blob",
    "blob_array",
    "blob_field",
    "bytes_read_counter",
    "commit",
    "dataset",
    "debug",
    "errors",
    "file",
    "fragment",
    "indices",
    "install_as_lance",
    "io",
    "iops_counter",
    "json_to_schema",
    "optimize",
    "progress",
    "pydantic",
    "sampler",
    "sanitize_ts",
    "schema",
    "schema_to_json",
    "set_logger",
    "simd_info",
    "tokenize",
    "torch",
    "udf",
    "util",
    "vector",
    "write_dataset",
]


def __getattr__(name: str) -> object:
    """Import a public name on first access, so that `import lance_core` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core.imports.on_demand import public_name

    value = globals()[name] = public_name(name)
    return value


def __dir__() -> list[str]:
    return __all__
