"""`IndicesBuilder`, by the name of pylance's module. It comes with the extra ``vector``."""

from lance_core.indices.tools import provided

__getattr__ = provided(__name__, "IndicesBuilder")
