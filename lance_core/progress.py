"""Callbacks that report the progress of writing fragments."""

from lance_core.dataset.values.progress import (
    FileSystemFragmentWriteProgress,
    FragmentWriteProgress,
    NoopFragmentWriteProgress,
)

__all__ = ["FileSystemFragmentWriteProgress", "FragmentWriteProgress", "NoopFragmentWriteProgress"]
