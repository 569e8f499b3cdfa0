"""A proxy that injects network faults into chosen requests to an HTTP service."""

from lance_core_testing.network.fault_proxy import FaultProxy, Request
from lance_core_testing.network.faults import (
    Answer,
    Delay,
    Fault,
    LateAnswer,
    Reset,
    Rule,
    SlowBody,
    Truncated,
    Twice,
    Without,
    json_error,
    xml_error,
)

__all__ = [
    "Answer",
    "Delay",
    "Fault",
    "FaultProxy",
    "LateAnswer",
    "Request",
    "Reset",
    "Rule",
    "SlowBody",
    "Truncated",
    "Twice",
    "Without",
    "json_error",
    "xml_error",
]
