"""What a version says of its indices."""
