"""Plugins: load them, and look up what they provide by scheme, name and key."""

from lance_core.plugins.handler_choice import MARKER, select_commit_handler
from lance_core.plugins.loading import PluginLoadFailure
from lance_core.plugins.manager import PluginManager, get_manager
from lance_core.plugins.store_cache import open_store

__all__ = [
    "MARKER",
    "PluginLoadFailure",
    "PluginManager",
    "get_manager",
    "open_store",
    "select_commit_handler",
]
