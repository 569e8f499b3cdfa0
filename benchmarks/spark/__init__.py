"""Spark with tables of this library, beside Spark's own Parquet."""
