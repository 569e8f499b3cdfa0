"""A proxy between a client and an HTTP service that makes chosen requests fail as networks do."""

from lance_core.testing.network.fault_proxy import FaultProxy, Request
from lance_core.testing.network.faults import (
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
