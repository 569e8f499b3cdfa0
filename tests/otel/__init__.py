"""The reports of lance-core as OpenTelemetry gets them."""
