"""NGRAM: for each trigram of the strings of a column, the rows that contain it."""

from lance_core_indices.ngram.ngram import NGram

__all__ = ["NGram"]
