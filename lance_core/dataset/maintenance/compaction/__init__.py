"""Compaction: write the rows of small or partly deleted fragments as new fragments."""
