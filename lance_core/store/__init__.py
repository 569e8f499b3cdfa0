"""Bytes at paths: the store contract, the built-in stores and what wraps any store."""
