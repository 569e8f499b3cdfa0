"""JSON columns: the layout of binary JSON, its values, and paths into it."""
