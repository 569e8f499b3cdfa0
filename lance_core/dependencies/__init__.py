"""Optional libraries, with the names of pylance's module: ``dependencies.pandas`` is pandas.

A library is imported when its name is used. ``_PANDAS_AVAILABLE`` and its like, for numpy, pandas,
polars, torch, pydantic and Hugging Face's datasets, are true if it is installed.
"""

from typing import Any

__all__ = ["datasets", "numpy", "pandas", "polars", "torch"]


def __getattr__(name: str) -> Any:
    """A library, or whether it is installed; raises `ModuleNotFoundError` without the library."""
    from importlib import import_module
    from importlib.util import find_spec

    flags = {f"_{each.upper()}_AVAILABLE": each for each in [*__all__, "pydantic"]}
    flags["_HUGGING_FACE_AVAILABLE"] = flags.pop("_DATASETS_AVAILABLE")
    if name in flags:
        return find_spec(flags[name]) is not None
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(name)
