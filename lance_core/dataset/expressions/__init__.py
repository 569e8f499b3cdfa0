"""Filters and computed columns: SQL and Arrow expressions over the columns of a table."""
