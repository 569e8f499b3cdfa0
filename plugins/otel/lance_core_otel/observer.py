"""Hands the reports of lance-core to the API of OpenTelemetry."""

from __future__ import annotations

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import Counter
from opentelemetry.trace import Status, StatusCode

from lance_core import __version__
from lance_core.hookspecs.observers import Attributes, EndSpan, Observer
from lance_core_otel.names import COUNTERS, PREFIX, Instrument


class OpenTelemetryObserver(Observer):
    """Uses the providers of meters and tracers that the application has set."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer_provider().get_tracer("lance_core", __version__)
        self._meter = metrics.get_meter_provider().get_meter("lance_core", __version__)
        self._counters: dict[str, Counter] = {}

    def count(self, name: str, amount: float, attributes: Attributes) -> None:
        """Add to the counter ``name``, which is created at its first use."""
        counter = self._counters.get(name)
        if counter is None:
            unit, description = COUNTERS.get(name, Instrument("1", ""))
            counter = self._counters[name] = self._meter.create_counter(name, unit, description)
        counter.add(amount, _prefixed(attributes))

    def start_span(self, name: str, attributes: Attributes, *, is_current: bool) -> EndSpan:
        """Start a span; an error that ends it is recorded as an exception."""
        span = self._tracer.start_span(name, attributes=_prefixed(attributes))
        token = context.attach(trace.set_span_in_context(span)) if is_current else None

        def end(results: Attributes, error: BaseException | None) -> None:
            if token is not None:
                context.detach(token)
            span.set_attributes(_prefixed(results))
            if error is not None:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR, str(error)))
            span.end()

        return end


def _prefixed(attributes: Attributes) -> dict[str, str | int | float | bool]:
    return {f"{PREFIX}{name}": value for name, value in attributes.items()}
