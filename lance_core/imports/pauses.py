"""Pauses of the cyclic garbage collector while many values are created, all of which stay."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from lance_core.imports.on_demand import without_collections

MANY_VALUES = 10_000
"""Values from which on collections take more than a tenth of the time that creates them."""


def pausing_for(count: int) -> AbstractContextManager[None]:
    """`without_collections` for work that creates ``count`` values or more, if these are many."""
    return without_collections() if count >= MANY_VALUES else nullcontext()
