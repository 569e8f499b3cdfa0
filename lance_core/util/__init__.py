"""Tools with the names of pylance's module: `KMeans` and `validate_vector_index`."""

from lance_core.util.vector_tools import __getattr__

__all__ = ["__getattr__"]  # both names are looked up in plugins when they are used
