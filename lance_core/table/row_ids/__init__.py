"""Stable ids and versions of rows."""
