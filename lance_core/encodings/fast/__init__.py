"""Fast paths that a file version may offer."""
