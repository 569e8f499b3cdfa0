"""Maintenance of a table's files: cleanup, clones, validation, removal."""
