"""Writes: the driver's plan, and the writer that Spark's tasks run."""
