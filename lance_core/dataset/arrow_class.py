"""`isinstance` of `pyarrow.dataset` classes, without importing `pyarrow.dataset`.

Query engines recognise what they can scan with projections and filters by Arrow's classes. The
import of these classes takes longer than opening a small table, so ours do not inherit from them.
An object that is created after the import is an instance of a subclass of both classes. An older
one gets this subclass as its ``__class__``, which ``isinstance`` tests too; DuckDB 2 then reads it
with projections, but filters the rows itself.

Datasets have no ``__arrow_c_stream__``, because DuckDB prefers a stream, which it reads as a whole.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, ClassVar, Self

_ENGINES = frozenset({"duckdb"})
"""Modules that know Arrow's classes only if `pyarrow.dataset` has been imported."""


class ArrowInstance:
    """Base of classes whose instances are also instances of a class of `pyarrow.dataset`."""

    arrow_name: ClassVar[str]
    """The name of the class in `pyarrow.dataset`."""

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        """An object that is an instance of Arrow's class too, if that has been imported."""
        kind = _with_arrow(cls)
        instance: Self = super(ArrowInstance, kind).__new__(kind)
        return instance

    @property  # type: ignore[misc]  # nobody assigns it
    def __class__(self) -> Any:
        """A subclass of the object's class, and of Arrow's class if that has been imported."""
        return _with_arrow(type(self))


def _with_arrow(own: Any) -> Any:
    if any(map(sys.modules.__contains__, _ENGINES)):  # `isdisjoint` would visit all modules
        import pyarrow.dataset  # noqa: F401  # so that the engine knows its classes
    arrow = getattr(sys.modules.get("pyarrow._dataset"), own.arrow_name, None)
    if arrow is None or issubclass(own, arrow):
        return own
    return _class_of_both(own, arrow)


@lru_cache(maxsize=16)
def _class_of_both(own: type, arrow: type) -> type:
    """A subclass of both that has the members of ``own``."""
    # Methods of Arrow's class would use its C++ object, which does not exist.
    members: dict[str, Any] = {
        name: _Missing(name) for name in dir(arrow) if not hasattr(own, name)
    }
    members |= {"__module__": own.__module__, "__qualname__": own.__qualname__}
    return type(own.__name__, (own, arrow), {**members, "__doc__": own.__doc__})


class _Missing:
    """A member of Arrow's class that ours does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no attribute {self._name!r}")
