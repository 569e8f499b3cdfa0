"""Everything that the author of an analyzer needs: how texts are split into words.

An analyzer implements `Analyzer`, is described by an `AnalyzerSpec`, and returns `Words`.
"""

from lance_core.index.analysis import Analyzer, Integers, Words
from lance_core.index.spec import AnalyzerSpec

__all__ = ["Analyzer", "AnalyzerSpec", "Integers", "Words"]
