"""Lance tables for PySpark. Spark imports `pyspark_lance`; users need to import nothing."""

from lance_core_spark.source import LanceSource

__all__ = ["LanceSource"]
