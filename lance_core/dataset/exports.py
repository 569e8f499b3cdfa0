"""The public names of this package, which imports them from here when one is first asked for."""

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
    "discard_fragments",
    "write_fragments",
]
