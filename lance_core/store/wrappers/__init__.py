"""Stores that wrap another store."""
