"""Columns of blobs: values that are kept outside of pages, seen as files, bytes or places."""
