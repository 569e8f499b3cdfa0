"""The entry point: the descriptors of `Compaction` and what it returns, imported at first use."""

from __future__ import annotations

from lance_core.hookspecs import ToolSpec, hookimpl

_PATHS = (
    "lance_core_compaction.compaction:Compaction",
    "lance_core_compaction.tasks:CompactionPlan",
    "lance_core_compaction.tasks:CompactionTask",
    "lance_core_compaction.tasks:RewriteResult",
)


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """Compactions, whole and step by step."""
    return list(map(ToolSpec, _PATHS))
