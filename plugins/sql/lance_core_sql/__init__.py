"""Rows of an external manifest store in a SQL database: ``scheme+sql://…``."""
