"""`Bitmap`, a set of integers, with the name of pylance's module."""

from lance_core.dataset.values.bitmap import Bitmap

__all__ = ["Bitmap"]
