"""Being told while fragments are written."""

from lance_core.dataset.values.progress import FragmentWriteProgress, NoopFragmentWriteProgress

__all__ = ["FragmentWriteProgress", "NoopFragmentWriteProgress"]
