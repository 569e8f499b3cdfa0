"""The entry point: the observer, which is imported when a store is opened for the first time."""

from __future__ import annotations

from lance_core.hookspecs import ToolSpec, hookimpl


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """The function that returns the observer."""
    return [ToolSpec("lance_core_otel.providers:new_observer")]
