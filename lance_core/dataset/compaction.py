"""Compactions step by step: `Compaction`, its plans, tasks and their results.

All come with the extra ``compaction``; without it, their use raises `PluginNotFoundError`.
"""

from lance_core.imports.provided_names import provided

__getattr__ = provided(__name__, "Compaction", "CompactionPlan", "CompactionTask", "RewriteResult")
