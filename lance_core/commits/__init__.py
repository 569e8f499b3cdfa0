"""Committing: publishing new versions of a table, and removing old ones."""
