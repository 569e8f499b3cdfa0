"""Fragments: data files, deletion files, and the rows that are not deleted."""
