"""Fragments: their metadata, reads of one fragment, and writes without a commit."""

from lance_core.dataset import (
    BatchUDF,
    Bitmap,
    DataFile,
    DeletionFile,
    FragmentMetadata,
    FragmentSession,
    LanceFragment,
    RowChangeCommit,
    RowChangeCounts,
    RowChanges,
    RowDatasetVersionMeta,
    RowIdMeta,
    RowIdSequence,
    Session,
    discard_fragments,
    write_fragments,
)
from lance_core.dataset.values.progress import FragmentWriteProgress, NoopFragmentWriteProgress
from lance_core.dataset.write.fragment_writer import DEFAULT_MAX_BYTES_PER_FILE

__all__ = [
    "DEFAULT_MAX_BYTES_PER_FILE",
    "BatchUDF",
    "Bitmap",
    "DataFile",
    "DeletionFile",
    "FragmentMetadata",
    "FragmentSession",
    "FragmentWriteProgress",
    "LanceFragment",
    "NoopFragmentWriteProgress",
    "RowChangeCommit",
    "RowChangeCounts",
    "RowChanges",
    "RowDatasetVersionMeta",
    "RowIdMeta",
    "RowIdSequence",
    "Session",
    "discard_fragments",
    "write_fragments",
]
