"""Blob columns: their fields in tables, data files and results."""
