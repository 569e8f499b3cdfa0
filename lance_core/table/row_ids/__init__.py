"""Stable row ids, and the versions that created and last updated each row."""
