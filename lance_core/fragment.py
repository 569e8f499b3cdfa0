"""Fragments: their metadata, reading one of them, writing them apart from a commit."""

from lance_core.dataset import (
    DataFile,
    DeletionFile,
    FragmentMetadata,
    LanceFragment,
    discard_fragments,
    write_fragments,
)

__all__ = [
    "DataFile",
    "DeletionFile",
    "FragmentMetadata",
    "LanceFragment",
    "discard_fragments",
    "write_fragments",
]
