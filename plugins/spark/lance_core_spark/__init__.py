"""Lance tables for PySpark. Spark imports `pyspark_lance`; reads and writes need no other import.

`compact` and `LanceTable` compact tables. `upsert_batches` upserts the batches of a stream.
"""

from lance_core_spark.source import LanceSource
from lance_core_spark.stream.upsert import upsert_batches
from lance_core_spark.table.compact import compact
from lance_core_spark.table.lance_table import LanceTable

__all__ = ["LanceSource", "LanceTable", "compact", "upsert_batches"]
