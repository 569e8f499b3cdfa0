"""NGRAM: for each trigram of the strings of a column, the rows that contain it."""

from lance_core.index.scalar.ngram.ngram import NGram

__all__ = ["NGram"]
