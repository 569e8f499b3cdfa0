# For type checkers where the plugin is installed.
from lance_core_compaction.compaction import Compaction
from lance_core_compaction.tasks import CompactionPlan, CompactionTask, RewriteResult

__all__ = ["Compaction", "CompactionPlan", "CompactionTask", "RewriteResult"]
