"""File version 0.1: fields are columns of batches, and a batch of a column is one page."""
