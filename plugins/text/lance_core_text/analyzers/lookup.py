"""The analyzers of all plugins, by name."""

from __future__ import annotations

from lance_core.hookspecs.analyzers import Analyzer
from lance_core.plugins import get_manager


def analyzer_named(name: str) -> Analyzer:
    """The analyzer ``name``. Raises `PluginNotFoundError` and `PluginConflictError`."""
    return get_manager().analyzer(name)
