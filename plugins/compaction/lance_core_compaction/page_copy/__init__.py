"""Copies pages of data files, and merges those that can become one page."""
