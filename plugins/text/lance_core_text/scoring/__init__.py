"""Scores by BM25: of the rows of an index, and of rows that are read."""
