"""Lance tables in Python: an independent implementation of the Lance table and file format.

``import lance_core as lance`` serves code written for pylance, as far as this version goes.
"""

from lance_core import fragment, progress
from lance_core._version import __version__
from lance_core.dataset import (
    DataStatistics,
    FieldStatistics,
    FragmentMetadata,
    LanceDataset,
    LanceFragment,
    LanceOperation,
    LanceScanner,
    Transaction,
    dataset,
    write_dataset,
)
from lance_core.schema import json_to_schema, schema_to_json

__all__ = [
    "DataStatistics",
    "FieldStatistics",
    "FragmentMetadata",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "Transaction",
    "__version__",
    "dataset",
    "fragment",
    "json_to_schema",
    "progress",
    "schema_to_json",
    "write_dataset",
]
