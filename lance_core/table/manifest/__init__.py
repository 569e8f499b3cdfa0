"""The manifest of a version: its values, its file format, and the draft of the next version."""
