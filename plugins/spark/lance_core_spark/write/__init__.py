"""Writes: the plan that the driver makes, and the writer that Spark's tasks run."""
