"""Planned expressions: their nodes, the columns that names mean, and their evaluation."""
