"""Buffers to and from Arrow arrays, without input or output."""
