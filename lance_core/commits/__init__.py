"""How a version becomes the version."""
