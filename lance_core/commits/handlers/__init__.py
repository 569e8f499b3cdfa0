"""Commit handlers: the ways in which exactly one writer makes a version."""
