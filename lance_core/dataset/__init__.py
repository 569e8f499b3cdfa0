"""What users do with tables: open, scan, take, write. One module per verb."""

from lance_core.dataset.api import dataset, write_dataset
from lance_core.dataset.dataset import LanceDataset
from lance_core.dataset.fragment import LanceFragment
from lance_core.dataset.fragment_metadata import DataFile, DeletionFile, FragmentMetadata
from lance_core.dataset.operation import LanceOperation, Transaction
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.statistics import DataStatistics, FieldStatistics, LanceStats
from lance_core.dataset.write import discard_fragments, write_fragments

__all__ = [
    "DataFile",
    "DataStatistics",
    "DeletionFile",
    "FieldStatistics",
    "FragmentMetadata",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "LanceStats",
    "Transaction",
    "dataset",
    "discard_fragments",
    "write_dataset",
    "write_fragments",
]
