"""File version 2.0: encodings of arrays, and the columns that fields consist of."""

from lance_core.encodings.v2_0.builtin import specs

__all__ = ["specs"]
