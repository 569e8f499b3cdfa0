"""Fragments: their metadata, reads of one fragment, and writes without a commit."""

from lance_core.dataset import (
    DataFile,
    DeletionFile,
    FragmentMetadata,
    FragmentSession,
    LanceFragment,
    RowChangeCommit,
    RowChangeCounts,
    RowChanges,
    RowIdSequence,
    discard_fragments,
    write_fragments,
)

__all__ = [
    "DataFile",
    "DeletionFile",
    "FragmentMetadata",
    "FragmentSession",
    "LanceFragment",
    "RowChangeCommit",
    "RowChangeCounts",
    "RowChanges",
    "RowIdSequence",
    "discard_fragments",
    "write_fragments",
]
