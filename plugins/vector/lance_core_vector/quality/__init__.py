"""What an index finds and what it costs: measured recall, and advice."""

from lance_core_vector.quality.recall_report import MeasuredRecall, RecallReport, recall_report
from lance_core_vector.quality.recommendation import (
    IndexAdvice,
    IndexCandidate,
    recommend_index,
)

__all__ = [
    "IndexAdvice",
    "IndexCandidate",
    "MeasuredRecall",
    "RecallReport",
    "recall_report",
    "recommend_index",
]
