"""Everything that the author of an observer needs, and those who report to observers.

A plugin provides the tool ``new_observer`` (`ToolSpec`), a function without arguments that returns
an `Observer`. It gets counters and spans of commits, scans, stores and caches.
"""

from lance_core.observation import OBSERVERS, Attributes, EndSpan, Observer, count, traced

__all__ = [
    "OBSERVERS",
    "Attributes",
    "EndSpan",
    "Observer",
    "count",
    "traced",
]
