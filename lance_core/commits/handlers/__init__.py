"""Commit handlers: mechanisms that let exactly one writer publish a version."""
