"""Imports at first use, and names of modules that have moved to other distributions."""
