"""The module that registers ``lance``: Spark imports all top-level modules named ``pyspark_*``."""

from pyspark_lance.data_source import DefaultSource, register

__all__ = ["DefaultSource", "register"]
