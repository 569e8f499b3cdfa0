"""Store wrappers for tests: they inject faults, add delays, and count calls."""

from lance_core_testing.stores.faulty import FaultRule, FaultyStore
from lance_core_testing.stores.throttled import ThrottledStore
from lance_core_testing.stores.tracing import Trace, TracingStore

__all__ = ["FaultRule", "FaultyStore", "ThrottledStore", "Trace", "TracingStore"]
