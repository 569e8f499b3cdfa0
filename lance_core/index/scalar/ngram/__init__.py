"""The NGRAM index: for each trigram of the strings of a column, the rows that contain it."""

from lance_core.index.scalar.ngram.index_type import NGram as NGram
