"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import hookimpl
from lance_core.hookspecs.searches import SearchSpec


@hookimpl
def lance_searches() -> Iterable[SearchSpec]:
    """The search for the nearest vectors."""
    return (SearchSpec(name="nearest", factory="lance_core_vector.search:VectorSearch"),)
