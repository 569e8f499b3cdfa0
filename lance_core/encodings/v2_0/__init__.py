"""File version 2.0: array encodings, and the columns that make up a field."""

from lance_core.encodings.v2_0.builtin import specs

__all__ = ["specs"]
