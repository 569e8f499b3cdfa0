"""Rows that the caller names by position, id or address."""
