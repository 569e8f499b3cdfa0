"""The SDK of OpenTelemetry with exporters in memory.

The providers stand for those that an application sets, which stay for the whole process: the
example of ``docs/plugins/otel.md`` sets some.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lance_core.observation import OBSERVERS
from lance_core.plugins import observers
from lance_core.plugins.store_cache import live_stores


@dataclass
class Telemetry:
    """What is reported while a test runs."""

    reader: InMemoryMetricReader
    exporter: InMemorySpanExporter

    def spans(self, name: str) -> list[ReadableSpan]:
        """Those that have ended, in this order."""
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def total(self, name: str, **attributes: Any) -> float:
        """The sum of a counter over all points with these ``attributes``."""
        labels = {(f"lance.{key}", value) for key, value in attributes.items()}
        data: Any = self.reader.get_metrics_data()
        return sum(
            point.value
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
            if metric.name == name and labels <= set((point.attributes or {}).items())
        )


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """Tables that are opened during the test report; afterwards nothing is observed."""
    reader, exporter = InMemoryMetricReader(), InMemorySpanExporter()
    meters, tracers = MeterProvider([reader]), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: meters)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: tracers)
    live_stores.reset()
    yield Telemetry(reader, exporter)
    OBSERVERS.clear()
    observers._created.clear()
    live_stores.reset()
