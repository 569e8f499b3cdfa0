"""Texts of errors: the nearest known name, what to install, and what a plugin did wrong."""
