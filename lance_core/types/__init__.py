"""Types of arguments, with the names of pylance's module."""

from lance_core.dataset.write.input import ReaderLike

__all__ = ["ReaderLike"]
