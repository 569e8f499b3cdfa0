"""Fragments: data files, deletion files and the rows that these leave."""
