"""Plugins: load them, and look up what they provide by scheme, name and key."""

from lance_core.plugins.capability_evidence import apply_user_overrides, probe_store
from lance_core.plugins.handler_choice import (
    MARKER,
    UnprovenCommitHandler,
    select_commit_handler,
)
from lance_core.plugins.loading import PluginLoadFailure
from lance_core.plugins.manager import PluginManager, get_manager
from lance_core.plugins.offers import plain_name
from lance_core.plugins.store_cache import (
    ALLOW_OPTION,
    CAPABILITY_OPTIONS,
    HANDLER_OPTION,
    Options,
    open_store,
)

__all__ = [
    "ALLOW_OPTION",
    "CAPABILITY_OPTIONS",
    "HANDLER_OPTION",
    "MARKER",
    "Options",
    "PluginLoadFailure",
    "PluginManager",
    "UnprovenCommitHandler",
    "apply_user_overrides",
    "get_manager",
    "open_store",
    "plain_name",
    "probe_store",
    "select_commit_handler",
]
