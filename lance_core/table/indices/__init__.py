"""Metadata of the indices of a version."""
