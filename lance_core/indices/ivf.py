"""`IvfModel`, by the name of pylance's module. It comes with the extra ``vector``."""

from lance_core.imports.provided_names import provided

__getattr__ = provided(__name__, "IvfModel")
