"""Where Spark finds the format ``lance``: it imports every top-level module named ``pyspark_*``."""

from pyspark_lance.data_source import DefaultSource, register

__all__ = ["DefaultSource", "register"]
