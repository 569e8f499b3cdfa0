"""Commits under a lease: ``scheme+lease://…``."""
