"""Callbacks that report the progress of writing fragments, and progress bars."""

from lance_core.dataset.values.progress import (
    FileSystemFragmentWriteProgress,
    FragmentWriteProgress,
    IndexProgress,
    NoopFragmentWriteProgress,
)
from lance_core.dataset.values.progress_bar import progress_bar

__all__ = [
    "FileSystemFragmentWriteProgress",
    "FragmentWriteProgress",
    "IndexProgress",
    "NoopFragmentWriteProgress",
    "progress_bar",
]
