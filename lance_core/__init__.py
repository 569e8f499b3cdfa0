"""Lance tables in Python: an independent implementation of the Lance table and file format.

``import lance_core as lance`` runs code written for pylance that uses only supported functions.
"""

from typing import TYPE_CHECKING

from lance_core._version import __version__
from lance_core.dataset.api import dataset, write_dataset

if TYPE_CHECKING:
    from lance_core import (
        arrow,
        blob,
        commit,
        errors,
        file,
        fragment,
        indices,
        optimize,
        progress,
        schema,
        udf,
        util,
        vector,
    )
    from lance_core.dataset import (
        Blob,
        BlobArray,
        BlobColumn,
        BlobFile,
        CleanupCandidateFile,
        CleanupExplanation,
        CleanupReferencedBranch,
        CleanupStats,
        DatasetBasePath,
        DataStatistics,
        FieldStatistics,
        FragmentMetadata,
        Index,
        IndexFile,
        LanceDataset,
        LanceFragment,
        LanceOperation,
        LanceScanner,
        ScanStatistics,
        Session,
        Transaction,
        batch_udf,
        blob_array,
        blob_field,
        bytes_read_counter,
        iops_counter,
    )
    from lance_core.schema import json_to_schema, schema_to_json

__all__ = [
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobFile",
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "DataStatistics",
    "DatasetBasePath",
    "FieldStatistics",
    "FragmentMetadata",
    "Index",
    "IndexFile",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
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
    "iops_counter",
    "json_to_schema",
    "optimize",
    "progress",
    "schema",
    "schema_to_json",
    "udf",
    "util",
    "vector",
    "write_dataset",
]


if not TYPE_CHECKING:  # for type checkers, every name would exist

    def __getattr__(name: str) -> object:
        """Import a public name on first access, so that `import lance_core` stays fast."""
        from lance_core.imports.on_demand import Part, import_module, load

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        modules = "arrow blob commit debug errors file fragment indices optimize progress"
        if name in [*modules.split(), "schema", "udf", "util", "vector"]:
            return import_module(f"lance_core.{name}")
        load(Part.TABLES)
        home = "schema" if name in {"json_to_schema", "schema_to_json"} else "dataset"
        return getattr(import_module(f"lance_core.{home}"), name)


def __dir__() -> list[str]:
    return __all__
