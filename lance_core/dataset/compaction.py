"""Compactions step by step: `Compaction`, its plans, tasks and their results.

All come with the extra ``compaction``; without it, their use raises `PluginNotFoundError`.
"""

from typing import Any

from lance_core.imports.provided_names import provided


def __getattr__(name: str) -> Any:
    """What the plugin provides."""
    names = "Compaction", "CompactionPlan", "CompactionTask", "RewriteResult"
    return provided(__name__, *names)(name)
