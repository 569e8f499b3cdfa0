"""BTREE: all values in ascending order in pages, and the bounds of each page."""

from lance_core_indices.btree.btree import BTree

__all__ = ["BTree"]
