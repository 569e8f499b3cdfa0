"""Stores behind a network service: everything that they share, on top of single requests."""
