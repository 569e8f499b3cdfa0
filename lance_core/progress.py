"""Callbacks that report the progress of writing fragments."""

from lance_core.dataset.values.progress import FragmentWriteProgress, NoopFragmentWriteProgress

__all__ = ["FragmentWriteProgress", "NoopFragmentWriteProgress"]
