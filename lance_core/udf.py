"""Functions that compute new columns for `LanceDataset.add_columns`."""

from lance_core.dataset import BatchUDF, BatchUDFCheckpoint, batch_udf

__all__ = ["BatchUDF", "BatchUDFCheckpoint", "batch_udf"]
