"""OpenTelemetry metrics and traces of lance-core."""
