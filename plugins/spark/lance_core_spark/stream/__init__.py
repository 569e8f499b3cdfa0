"""Structured streaming: tables as sources and as sinks."""
