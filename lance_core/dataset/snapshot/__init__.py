"""Snapshots: one version of a table, opened, and the look-up of versions."""
