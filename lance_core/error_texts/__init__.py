"""Texts of errors: the nearest known name, and what a plugin did wrong."""
