"""The manifest of a version: its values, its file, and drafts of the next."""
