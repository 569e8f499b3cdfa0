"""Lance tables for PySpark. Spark enters by `pyspark_lance`; nothing here needs to be imported."""

from lance_core_spark.source import LanceSource

__all__ = ["LanceSource"]
