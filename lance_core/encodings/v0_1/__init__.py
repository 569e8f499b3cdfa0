"""File version 0.1: a field is a column of batches, and each batch of a column is one page."""
