"""Reads: partitions, pushed filters, and the reader that Spark's tasks run."""
