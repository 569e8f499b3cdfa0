"""Whether the application wants reports. OpenTelemetry is imported only then."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_otel.observer import OpenTelemetryObserver

_API = ("opentelemetry.trace", "opentelemetry.metrics")
"""Modules with which providers are set; they define those that stand in until then."""


def new_observer() -> OpenTelemetryObserver | None:
    """What the tool of this name returns: None while the application has set no provider.

    Then nothing is reported, and it costs nothing.
    """
    if sys.modules.keys().isdisjoint(_API):
        return None
    from opentelemetry import metrics, trace

    providers = (trace.get_tracer_provider(), metrics.get_meter_provider())
    if all(type(provider).__module__.startswith(_API) for provider in providers):
        return None
    from lance_core_otel.observer import OpenTelemetryObserver

    return OpenTelemetryObserver()
