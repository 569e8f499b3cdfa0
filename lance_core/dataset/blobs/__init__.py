"""Blob columns: values stored outside of pages, read as files, bytes or descriptions."""
