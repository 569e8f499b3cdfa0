"""Compactions: merge small fragments, and remove deleted rows.

`Compaction`, `CompactionPlan`, `CompactionTask` and `RewriteResult` come with the extra
``compaction``.
"""

from typing import TYPE_CHECKING

from lance_core.dataset import compaction
from lance_core.dataset.values.compaction import (
    CompactionCheck,
    CompactionMetrics,
    CompactionOptions,
)

if TYPE_CHECKING:
    from lance_core.dataset.compaction import (
        Compaction,
        CompactionPlan,
        CompactionTask,
        RewriteResult,
    )

__all__ = [
    "Compaction",
    "CompactionCheck",
    "CompactionMetrics",
    "CompactionOptions",
    "CompactionPlan",
    "CompactionTask",
    "RewriteResult",
]


def __getattr__(name: str) -> object:
    """What the plugin provides; raises `PluginNotFoundError` without it."""
    return getattr(compaction, name)
